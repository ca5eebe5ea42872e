import type { VNode } from 'preact';
import type { AccountOverview } from './overview.ts';

/** The steps of a new account, until all are done. */
export function GettingStarted({ account, billing, keys, applications }: AccountOverview): VNode | null {
  const steps = [
    { isDone: billing.plan !== null, href: '/account/billing/', text: 'Choose a plan' },
    {
      isDone: keys.length > 0 || applications.length > 0,
      href: '#keys',
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
