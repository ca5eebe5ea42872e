import { report, type Step } from './clientState.ts';
import type { ObservedGeneration } from './journal.ts';

/** A generation in a response, of lists and tools too. */
interface ShownGeneration {
  uuid: string;
  prompt: string;
  /** Missing in list_library. */
  model?: string;
  status: string;
  /** Missing in list_library until succeeded. */
  output_url?: string | null;
  credits_charged: number;
}

/**
 * Compares a generation in a response with earlier observations.
 * @param beganAt start of the request: what was observed before it must still hold.
 */
export function recordShownGeneration(step: Step, shown: ShownGeneration, beganAt: number): void {
  const { uuid } = shown;
  const known = step.state.journal.generations.get(uuid);
  // The 201 of an unknown generation was lost: it must belong to a create of this customer.
  const observed = known ?? step.state.journal.createsByPrompt.get(shown.prompt);
  if (observed === undefined)
    return report(step, 'no-unrequested-generations', uuid, `no client sent "${shown.prompt}"`);
  if (observed.accountUuid !== step.customer.uuid)
    report(step, 'lists-show-own-items', uuid, `was created by ${observed.accountUuid}`);
  if (known === undefined) return;
  for (const [what, before, now] of [
    ['prompt', known.prompt, shown.prompt],
    ['model', known.model, shown.model ?? known.model],
    ['credits_charged', known.credits, shown.credits_charged],
  ] as const) {
    if (before !== now) report(step, 'created-exists', uuid, `${what} was ${before} and is ${now}`);
  }
  if (known.deletedAt !== null && beganAt > known.deletedAt) {
    const lateMs = Math.round(beganAt - known.deletedAt);
    report(step, 'deleted-is-gone', uuid, `is returned ${lateMs} ms after it was deleted`);
  }
  recordShownStatus(step, known, shown, beganAt);
}

function recordShownStatus(step: Step, known: ObservedGeneration, shown: ShownGeneration, beganAt: number): void {
  const { uuid, final } = known;
  const { status, output_url: url = null } = shown;
  // Each process may build URLs with another origin; only the path is the same.
  const outputPath = url === null ? null : new URL(url).pathname;
  if (status === 'queued') {
    if (final !== null && beganAt > final.at) report(step, 'end-is-final', uuid, `was ${final.status} and is queued`);
    return;
  }
  if ((status === 'succeeded') !== (outputPath !== null))
    report(step, 'output-can-be-fetched', uuid, `is ${status}, and output_url is ${url}`);
  if (final === null) known.final = { status: status as 'succeeded' | 'failed', outputPath, at: performance.now() };
  else if (final.status !== status || final.outputPath !== outputPath) {
    const detail = `was ${final.status} ${final.outputPath} and is ${status} ${outputPath}`;
    report(step, 'end-is-final', uuid, detail);
  }
}
