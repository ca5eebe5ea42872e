import type { Step } from '../clientState.ts';

const PARALLEL_COMMANDS = 2;

/** Refunds a generation that has succeeded as staff do, by several commands at once. It must be refunded once. */
export async function refundSucceeded(step: Step): Promise<void> {
  const { customer, state, random } = step;
  const { generations } = state.store;
  const candidates = customer.generations.filter((uuid) => generations.get(uuid)?.final?.status === 'succeeded');
  if (candidates.length > 0) await refundGeneration(step, random.pick(candidates), PARALLEL_COMMANDS);
}

/** Refunds one generation that has succeeded, by some commands at once. */
export async function refundGeneration({ state, name }: Step, uuid: string, times: number): Promise<void> {
  const { generations, staffRefunds } = state.store;
  const { accountUuid, credits } = generations.get(uuid) as { accountUuid: string; credits: number };
  const command = ['refund-generation', uuid, '--reason', `chaos ${name}`, '--apply'];
  const results = await Promise.all(Array.from({ length: times }, () => state.runAdmin(command)));
  if (results.includes(true)) staffRefunds.set(uuid, { accountUuid, credits });
}
