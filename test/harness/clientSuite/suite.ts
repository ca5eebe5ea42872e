import { ACCOUNT_CASES } from './accountCases.ts';
import { type SuiteCase, SuiteContext, type SuiteSettings } from './context.ts';
import { ERROR_CASES } from './errorCases.ts';
import { GENERATION_CASES } from './generationCases.ts';
import { RETRY_CASES } from './retryCases.ts';
import { UPLOAD_CASES } from './uploadCases.ts';
import { WEBHOOK_CASES } from './webhookCases.ts';

/** Every method of the client and every error, against a running service. It runs wherever the client does. */
export const CASES: readonly SuiteCase[] = [
  ...GENERATION_CASES,
  ...UPLOAD_CASES,
  ...ACCOUNT_CASES,
  ...WEBHOOK_CASES,
  ...ERROR_CASES,
  ...RETRY_CASES,
];

export interface SuiteResult {
  /** Titles of the cases that passed. */
  passed: string[];
  /** Titles and reasons. */
  failed: string[];
  /** Methods of the client that were called. */
  called: string[];
}

/** Runs all cases, one after another. */
export async function runSuite(settings: SuiteSettings): Promise<SuiteResult> {
  const context = new SuiteContext(settings);
  const result: SuiteResult = { passed: [], failed: [], called: [] };
  for (const { title, run } of CASES) {
    try {
      await run(context);
      result.passed.push(title);
    } catch (error) {
      result.failed.push(`${title}: ${String(error)}`);
    }
  }
  result.called = [...context.called];
  return result;
}
