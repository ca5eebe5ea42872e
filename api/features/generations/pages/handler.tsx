import { loadReleasedModels } from '../../../../shared/domain/catalog/knownModels.ts';
import { cancelGeneration } from '../../../../shared/domain/generations/cancel.ts';
import { deleteGeneration } from '../../../../shared/domain/generations/delete.ts';
import { listGenerations } from '../../../../shared/domain/generations/list.ts';
import { listMetadataFilters } from '../../../../shared/domain/generations/metadata.ts';
import { readGeneration } from '../../../../shared/domain/generations/read.ts';
import { readGenerationContext } from '../../../../shared/domain/generations/readContext.ts';
import { FAILURE_MESSAGES } from '../../../../shared/gateways/upstreams/index.ts';
import type { Generation } from '../../../../shared/tables/Generation.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { parseGenerationFilter } from '../listFilters.ts';
import { parsePage, readPageFilters } from '../../../pipeline/lists.ts';
import { parseUuidParam } from '../../../pipeline/requestParameters.ts';
import { defineAccountAction } from '../../../web/components/accountAction.tsx';
import { findShownAccount } from '../../../web/components/testData.tsx';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { t as shared } from '../../../web/texts.ts';
import { type CancelOutcome, sendGenerationPage } from './generationPage.tsx';
import { t } from './texts.ts';
import { LIBRARY_PATH, sendLibraryPage } from './view.tsx';

const withLibraryErrors = showErrorsOn(async (ctx, flash, status) => {
  const { accountId } = requireCaller(ctx);
  const shown = { accountId, isTest: false, hasTestData: false };
  await sendLibraryPage(ctx, { shown, list: await listGenerations(accountId, 1), query: '' }, flash, status);
});

/**
 * Shows one page of the account's generations, filtered by the form above them; with `?mode=test`, of its test keys.
 */
export const showLibraryPage = withLibraryErrors(async (ctx: Context) => {
  const shown = await findShownAccount(ctx);
  const { parameters, query } = readPageFilters(ctx, ['status', 'kind', 'model', ...listMetadataFilters(ctx.query)]);
  await loadReleasedModels();
  const filter = parseGenerationFilter(parameters);
  const list = await listGenerations(shown.accountId, parsePage(ctx), filter);
  await sendLibraryPage(ctx, { shown, list, query });
});

/** Shows one generation. As a read of the API, it refreshes one that is in progress. */
export const showGenerationPage = withLibraryErrors(async (ctx) => {
  const { accountId, isTest } = await findShownAccount(ctx);
  const owner = requireCaller(ctx);
  const uuid = parseUuidParam(ctx);
  const generation = await readGeneration({ ...owner, accountId, isTest }, uuid);
  const context = await readGenerationContext(owner.accountId, accountId, uuid);
  await sendGenerationPage(ctx, generation, context, isTest);
});

export const deleteFromLibrary = defineAccountAction({
  withErrors: withLibraryErrors,
  describe: async (ctx, caller) => {
    const { prompt, status } = await readGeneration(caller, parseUuidParam(ctx));
    const consequences = (
      <>
        <p class="prompt">{prompt}</p>
        <p>{status === 'queued' ? t.deleteQueuedEffect() : t.deleteEffect()}</p>
      </>
    );
    return { question: t.deleteQuestion(), consequences, button: shared.delete(), returnPath: LIBRARY_PATH };
  },
  perform: async (ctx, caller) => {
    await deleteGeneration(caller, parseUuidParam(ctx));
    return `${LIBRARY_PATH}?done=deleted`;
  },
});

/** Cancels a generation. One that has ended is shown instead of the confirmation. */
export const cancelFromLibrary = defineAccountAction({
  withErrors: withLibraryErrors,
  describe: async (ctx, caller) => {
    const { uuid, prompt, status } = await readGeneration(caller, parseUuidParam(ctx));
    const path = `${LIBRARY_PATH}${uuid}/`;
    if (status !== 'queued') return path;
    const consequences = (
      <>
        <p class="prompt">{prompt}</p>
        <p>{t.cancelEffect()}</p>
      </>
    );
    return {
      question: t.cancelQuestion(),
      consequences,
      button: t.cancelGeneration(),
      returnPath: path,
      cancelLabel: t.goBack(),
    };
  },
  perform: async (ctx, caller) => {
    const generation = await cancelGeneration(caller, parseUuidParam(ctx));
    return `${LIBRARY_PATH}${generation.uuid}/?done=${describeCancellation(generation)}`;
  },
});

function describeCancellation({ status, error_message: error }: Generation): CancelOutcome {
  if (status === 'queued') return 'cancel-requested';
  return error === FAILURE_MESSAGES.canceledByOwner ? 'canceled' : 'not-canceled';
}
