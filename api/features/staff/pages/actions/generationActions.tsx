import { getAccount } from '../../../../../shared/domain/accounts/accounts.ts';
import { refundGeneration, requeueGeneration } from '../../../../../shared/domain/staff/generationActions.ts';
import { findGenerationForStaff, type StaffGeneration } from '../../../../../shared/domain/staff/generations.ts';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { UNCHANGED } from './accountActions.tsx';
import { defineAction } from './defineAction.tsx';

/** Returns the path of the page of a generation. */
export function getGenerationPath({ uuid }: Pick<StaffGeneration, 'uuid'>): string {
  return `/admin/generations/${uuid}/`;
}

export const refund = defineAction({
  find: async (uuid) => {
    const generation = await findGenerationForStaff(uuid);
    return { generation, account: await getAccount(generation.account_id) };
  },
  describe: ({ generation, account }) => ({
    question: `Refund ${formatNumber(generation.credits_charged)} credits to ${account.email}?`,
    consequences: (
      <p>
        {formatNumber(generation.plan_credits_charged)} plan credits and{' '}
        {formatNumber(generation.credits_charged - generation.plan_credits_charged)} top-up credits return to the
        buckets that paid for this generation. Plan credits roll over once at most; adjust credits instead if they are
        to stay. The output stays. A generation is refunded once.
      </p>
    ),
    button: 'Refund generation',
    returnPath: getGenerationPath(generation),
  }),
  perform: async ({ generation }, { actor }) =>
    (await refundGeneration(generation.uuid, actor)) ? 'refunded' : UNCHANGED,
});

export const requeue = defineAction({
  find: findGenerationForStaff,
  describe: (generation) => ({
    question: 'Requeue this generation?',
    consequences: (
      <p>
        Its next step becomes due now. A generation that a worker holds, or that has ended, is not requeued, so nothing
        is submitted or charged twice.
      </p>
    ),
    button: 'Requeue generation',
    isHarmless: true,
    returnPath: getGenerationPath(generation),
  }),
  perform: async ({ uuid }, { actor }) => {
    await requeueGeneration(uuid, actor);
    return 'requeued';
  },
});
