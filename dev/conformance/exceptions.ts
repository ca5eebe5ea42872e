/** A part of the official suite that does not apply to this server: a scenario, or some of its checks. */
export interface ConformanceException {
  scenario: string;
  /** The checks that may fail; all of them by default. */
  checks?: readonly string[];
  reason: string;
}

const OWN_TOOL = 'calls a tool of the suite’s own example server; ours are the five documented ones';
const OWN_RESOURCE = 'reads a resource of the suite’s own example server (test://…); ours are generation://{uuid}';
const NO_PROMPTS = 'the server offers no prompts';
const NO_CLIENT_REQUESTS =
  'calls a tool that requests sampling, roots or forms; ours only ask for a page to be opened (URL elicitation)';

const exceptionsFor = (reason: string, ...scenarios: string[]): ConformanceException[] =>
  scenarios.map((scenario) => ({ scenario, reason }));

export const EXCEPTIONS: readonly ConformanceException[] = [
  ...exceptionsFor('the server sends no log messages', 'logging-set-level', 'tools-call-with-logging'),
  ...exceptionsFor('completes an argument of a prompt; ours completes the uuid of a generation', 'completion-complete'),
  ...exceptionsFor(
    OWN_TOOL,
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
    'tools-call-with-progress',
    'json-schema-2020-12',
    'http-custom-header-server-validation',
  ),
  ...exceptionsFor(
    OWN_RESOURCE,
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
  ),
  ...exceptionsFor(
    NO_PROMPTS,
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ),
  { scenario: 'caching', checks: ['sep-2549-prompts-list-caching-hints'], reason: NO_PROMPTS },
  ...exceptionsFor(
    NO_CLIENT_REQUESTS,
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    'input-required-result-basic-elicitation',
    'input-required-result-basic-sampling',
    'input-required-result-basic-list-roots',
    'input-required-result-request-state',
    'input-required-result-multiple-input-requests',
    'input-required-result-multi-round',
    'input-required-result-non-tool-request',
    'input-required-result-result-type',
    'input-required-result-tampered-state',
    'input-required-result-capability-check',
  ),
  {
    scenario: 'server-stateless',
    checks: [
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-server-no-log-without-loglevel',
    ],
    reason: OWN_TOOL,
  },
];
