import { affiliateReport } from './affiliates.ts';
import { churnReport } from './churn.ts';
import { failureReport } from './failures.ts';
import { marginReport } from './margin.ts';
import { onboardingReport } from './onboarding.ts';
import { paymentEventReport } from './paymentEvents.ts';
import type { ReportDefinition } from './report.ts';
import { upstreamReport } from './upstreams.ts';

/** The reports for staff, in the order of their navigation. */
export const REPORTS: readonly ReportDefinition[] = [
  failureReport,
  upstreamReport,
  marginReport,
  onboardingReport,
  churnReport,
  paymentEventReport,
  affiliateReport,
];
