import type { VNode } from 'preact';
import type { BillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import type { Account } from '../../../shared/tables/Account.ts';

interface GettingStartedProps {
  account: Account;
  billing: BillingStatus;
  /** True if there is an API key or a connected application. */
  hasAccess: boolean;
}

interface Step {
  isDone: boolean;
  text: string;
  links: readonly (readonly [href: string, label: string])[];
}

/** The steps of a new account, until all are done: those of the onboarding, then the first generation. */
export function GettingStarted({ account, billing, hasAccess }: GettingStartedProps): VNode | null {
  const steps: Step[] = [
    {
      isDone: account.onboarding_step !== 'profile',
      text: 'Complete your profile',
      links: [['/account/settings/', 'Profile']],
    },
    {
      isDone: billing.plan !== null,
      text: 'Choose a plan',
      links: [['/account/billing/', 'Plans']],
    },
    {
      isDone: hasAccess,
      text: 'Create an API key, or connect an assistant',
      links: [
        ['/account/keys/', 'API keys'],
        ['/account/connect/', 'Connect an assistant'],
      ],
    },
    {
      isDone: account.generation_count > 0,
      text: 'Create your first image or video, with the API or in your assistant',
      links: [['/api/docs/', 'API reference']],
    },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <section class="card" aria-labelledby="start">
      <h2 id="start">Getting started</h2>
      <ol class="plain">
        {steps.map(({ isDone, text, links }) => (
          <li key={text}>
            {text} {isDone ? <span class="tag">Done</span> : <StepLinks links={links} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

function StepLinks({ links }: Pick<Step, 'links'>): VNode {
  return (
    <span class="links">
      {links.map(([href, label]) => (
        <a key={href} href={href}>
          {label}
        </a>
      ))}
    </span>
  );
}
