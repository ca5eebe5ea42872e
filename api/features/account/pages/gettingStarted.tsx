import type { VNode } from 'preact';
import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { Icon } from '../../../web/components/icon.tsx';
import { t as shared } from '../../../web/texts.ts';
import { Section } from '../../../web/components/section.tsx';
import { STEPS as t } from './texts.ts';

interface GettingStartedProps {
  account: Account;
  billing: BillingStatus;
  /** True if there is an API key or a connected application. */
  hasAccess: boolean;
}

/** The steps of a new account, until all are done: those of the onboarding, then the first generation. */
export function GettingStarted({ account, billing, hasAccess }: GettingStartedProps): VNode | null {
  const steps = [
    { isDone: account.onboarding_step !== 'profile', text: <a href="/account/settings/">{t.completeProfile()}</a> },
    { isDone: billing.plan !== null, text: <a href="/account/billing/">{shared.choosePlan()}</a> },
    {
      isDone: hasAccess,
      text: t.getAccess({ key: '/account/keys/', assistant: '/account/applications/#connect' }),
    },
    { isDone: account.generation_count > 0, text: t.createFirst({ link: '#request' }) },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <Section id="start" title={t.gettingStarted()}>
      <ol class="steps">
        {steps.map(({ isDone, text }) => (
          <li class={isDone ? 'quiet' : undefined}>
            <Icon name={isDone ? 'good' : 'open'} />
            <span>
              {text} {isDone ? <span class="unseen">{t.done()}</span> : null}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
