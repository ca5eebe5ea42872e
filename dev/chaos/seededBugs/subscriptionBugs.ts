import type { SeededBug } from './seededBug.ts';

const PLAN_HISTORY = 'shared/domain/billing/planHistory.ts';

/** Bugs in the payments of plans: upgrades, returned payments, and deletions of accounts. */
export const SUBSCRIPTION_BUGS: readonly SeededBug[] = [
  {
    name: 'a deletion takes a year as paid if the subscription is active at Stripe',
    changes: [
      {
        file: 'shared/domain/billing/stopRenewals.ts',
        within: 'stopRenewals',
        find: 'if (!isYearPaid($subscription))',
        replace: `if (!isYearPaid($subscription) && $subscription.status !== 'active')`,
      },
    ],
    foundBy: ['payments-end-with-a-deletion'],
  },
  {
    name: 'the plan of a returned upgrade still applies',
    changes: [
      {
        file: PLAN_HISTORY,
        within: 'findPaidPlan',
        find: '&& $returnedAt === null',
        replace: '',
      },
      {
        file: PLAN_HISTORY,
        within: 'findCurrentPlan',
        find: 'least(returned_at, applies_until',
        replace: 'least(applies_until',
      },
    ],
    foundBy: ['returned-plans-end'],
  },
  {
    name: 'the difference in credits of an upgrade is not granted',
    changes: [
      {
        file: 'shared/domain/credits/periods.ts',
        within: 'correctGrants',
        find: 'if ($isCorrect || $current === undefined) return $account',
        replace: 'if ($isCorrect || $current === undefined || $current.granted > 0) return $account',
      },
    ],
    foundBy: ['a-month-grants-its-plan'],
  },
  {
    name: 'a lost dispute does not count as returned',
    changes: [
      {
        file: 'shared/gateways/payments/stripeMappers.ts',
        within: 'computeReversals',
        find: 'Math.max($refunded, $prevented) + $lost',
        replace: 'Math.max($refunded, $prevented)',
      },
    ],
    foundBy: ['plan-reversals-are-known', 'returned-plans-end'],
  },
  {
    name: 'what was returned of an invoice is not recorded once its subscription has ended',
    changes: [
      {
        file: 'shared/domain/billing/invoices.ts',
        within: 'applySubscriptionInvoices',
        find: 'new Map($invoices.map(',
        replace: `new Map((fetched.status === 'canceled' ? [] : $invoices).map(`,
      },
    ],
    foundBy: ['plan-reversals-are-known'],
  },
  {
    name: 'what was paid after the request of a deletion is not refunded at the erasure',
    changes: [
      {
        file: 'shared/domain/billing/owedRefunds.ts',
        within: 'oweBackAfterDeletion',
        find: 'if ($requestedAt === null) return;',
        replace: 'if ($requestedAt === null || $requestedAt < now()) return;',
      },
    ],
    foundBy: ['payments-after-a-deletion-are-refunded', 'payments-end-with-a-deletion'],
  },
  {
    name: 'a month is granted by the present plan, whatever plan applied at its start',
    changes: [
      {
        file: 'shared/domain/credits/monthPlan.sql',
        find: 'FROM paid JOIN catalog_plans plan ON plan.slug = paid.plan_slug',
        replace:
          'FROM paid JOIN subscriptions s ON s.id = p_subscription JOIN catalog_plans plan ON plan.slug = s.plan_slug',
      },
    ],
    foundBy: ['a-month-grants-its-plan'],
  },
];
