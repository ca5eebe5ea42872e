import {
  isDeletionRequested,
  requestAccountDeletion,
  undoAccountDeletion,
} from '../../../../../shared/domain/privacy/deletion.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { getRequestOrigin } from '../../../../pipeline/requestOrigin.ts';
import { mayDo } from '../../../../web/components/areaPage.tsx';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { SETTINGS_PATH } from '../../../signIn/pages/settings/outcomes.ts';
import { DELETION_PATH } from './paths.ts';
import { renderDeletionPage } from './view.tsx';

const withDeletionErrors = showErrorsOn(renderDeletionPage);

/** Shows the owner what the deletion of the account means; once it is requested, shows its state to every member. */
export async function showDeletionPage(ctx: Context): Promise<void> {
  if (!mayDo(ctx, 'own') && !(await isDeletionRequested(requireCaller(ctx).accountId)))
    return seeOther(ctx, '/account/');
  await renderDeletionPage(ctx);
}

/** Requests the deletion of the account. */
export const requestDeletion = withDeletionErrors(async (ctx) => {
  await requestAccountDeletion(requireCaller(ctx), getForm(ctx).get('email') ?? '', getRequestOrigin(ctx));
  seeOther(ctx, `${DELETION_PATH}?done=requested`);
});

/** Undoes the deletion of the account. */
export const undoDeletion = withDeletionErrors(async (ctx) => {
  await undoAccountDeletion(requireCaller(ctx), getRequestOrigin(ctx));
  seeOther(ctx, `${SETTINGS_PATH}?done=deletion-undone`);
});
