/**
 * The tests that should detect a mutant, by the files that it may be in. The first line that matches counts. Only tests
 * that run the service in their own process: a program that they start has no mutants of TypeScript.
 */
const TESTS: readonly (readonly [path: RegExp, names: string])[] = [
  [/monthPlan|monthStart|renewCreditPeriods/, 'unit/creditFunctions'],
  [
    /credits\/(?:periods|renewDuePeriods)/,
    'payments/creditPeriods payments/planHistory payments/yearRefunds payments/autoTopupNeed flows/accountYear payments/paymentOrder',
  ],
  [/recordAndClaim/, 'unit/recordAndClaim unit/claimDeliveries'],
  [/spendingWindow|chargeGenerations|decideCreates|lockAccounts/, 'unit/decideCreates unit/chargeGenerations'],
  [/failGenerations|completeGenerations|cancelGeneration/, 'unit/endGenerations'],
  [
    /credits\/ledger/,
    'flows/usageAndLedger flows/ledgerFilters contract/ledgerDownloads flows/outboxEvents flows/accountYear payments/topupReversals',
  ],
  [/credits\//, 'flows/usageAndLedger flows/ledgerFilters flows/integrityCheck'],
  [
    /autoTopup/,
    'payments/autoTopupInvoices contract/topups payments/autoTopupNeed payments/autoTopupTriggers payments/autoTopupOutcomes',
  ],
  [/topupAmounts/, 'unit/topupAmounts unit/topupCredits'],
  [
    /topup/i,
    'unit/topupAmounts unit/topupCredits contract/topups payments/topupReversals payments/topupRefunds payments/topupRemainders payments/topupInvoices payments/paymentOrder',
  ],
  [
    /billing\//,
    'payments/planHistory payments/yearRefunds payments/renewalPauses contract/plansAndCheckout payments/invoices flows/paymentWebhook flows/accountYear payments/paymentOrder payments/stripeFaults',
  ],
  [
    /generations\//,
    'contract/generations contract/estimates contract/generationCancellation contract/idempotencyKey flows/generationInputs flows/spendingLimits contract/generationFilters',
  ],
];

/** @returns paths of test files. */
export function findTests(file: string): string[] {
  const names = TESTS.find(([path]) => path.test(file))?.[1] ?? '';
  return names
    .split(' ')
    .filter(Boolean)
    .map((name) => `test/${name}.test.ts`);
}
