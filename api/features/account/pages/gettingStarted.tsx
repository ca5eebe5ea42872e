import type { VNode } from 'preact';
import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import type { Account } from '../../../../shared/tables/Account.ts';

interface GettingStartedProps {
  account: Account;
  billing: BillingStatus;
  /** True if there is an API key or a connected application. */
  hasAccess: boolean;
}

/** The steps of a new account, until all are done: those of the onboarding, then the first generation. */
export function GettingStarted({ account, billing, hasAccess }: GettingStartedProps): VNode | null {
  const steps = [
    { isDone: account.onboarding_step !== 'profile', text: <a href="/account/settings/">Complete your profile</a> },
    { isDone: billing.plan !== null, text: <a href="/account/billing/">Choose a plan</a> },
    {
      isDone: hasAccess,
      text: (
        <>
          <a href="/account/keys/">Create an API key</a>, or{' '}
          <a href="/account/applications/#connect">connect an assistant</a>
        </>
      ),
    },
    {
      isDone: account.generation_count > 0,
      text: (
        <>
          Create your first image or video with the <a href="/api/docs/">API</a> or in your assistant
        </>
      ),
    },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <section class="card" aria-labelledby="start">
      <h2 id="start">Getting started</h2>
      <ol class="plain">
        {steps.map(({ isDone, text }) => (
          <li>
            {text} {isDone ? <span class="tag">Done</span> : null}
          </li>
        ))}
      </ol>
    </section>
  );
}
