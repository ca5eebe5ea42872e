import type { VNode } from 'preact';
import type { BillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import type { Account } from '../../../shared/tables/Account.ts';

interface GettingStartedProps {
  account: Account;
  billing: BillingStatus;
  /** True if there is an API key or a connected application. */
  hasAccess: boolean;
}

/** The steps of a new account, until all are done. */
export function GettingStarted({ account, billing, hasAccess }: GettingStartedProps): VNode | null {
  const steps = [
    { isDone: billing.plan !== null, href: '/account/billing/', text: 'Choose a plan' },
    {
      isDone: hasAccess,
      href: '/account/keys/',
      text: 'Create an API key, or connect an assistant',
    },
    { isDone: account.generation_count > 0, href: '/api/docs/', text: 'Create your first image or video' },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <section class="card" aria-labelledby="start">
      <h2 id="start">Getting started</h2>
      <ol class="plain">
        {steps.map(({ isDone, href, text }) => (
          <li>
            {isDone ? text : <a href={href}>{text}</a>} {isDone ? <span class="tag">Done</span> : null}
          </li>
        ))}
      </ol>
    </section>
  );
}
