import { Readable } from 'node:stream';
import { startAccountExport } from '../../../../../shared/domain/privacy/export.ts';
import { isSignInRecent } from '../../../../../shared/domain/signIn/recentSignIn.ts';
import { requireCaller, type Context } from '../../../../context.ts';
import { getRequestOrigin } from '../../../../pipeline/requestOrigin.ts';
import { EXPORT_PATH } from '../deletion/paths.ts';
import { getBrand } from '../../../../web/brand.ts';
import { type PageProblem, sendAccountAreaPage } from '../../../../web/components/areaPage.tsx';
import { Form } from '../../../../web/components/form.tsx';
import { showErrorsOn } from '../../../../web/components/showErrorsOn.ts';
import { SignInAgain } from '../../../../web/components/signInAgain.tsx';
import { SETTINGS_PATH } from '../../../signIn/pages/settings/outcomes.ts';
import { t as shared } from '../../../../web/texts.ts';
import { t as settings } from '../../../signIn/pages/settings/texts.ts';
import { Section } from '../../../../web/components/section.tsx';
import { t } from './texts.ts';

/** Renders what the download contains. */
export async function renderExportPage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const isRecent = await isSignInRecent(requireCaller(ctx));
  const children = (
    <Section id="contents" title={t.contents()}>
      <p>{t.list()}</p>
      {isRecent ? (
        <Form action={EXPORT_PATH}>
          <button type="submit" class="main">
            {shared.download()}
          </button>
        </Form>
      ) : (
        <SignInAgain returnTo={EXPORT_PATH} />
      )}
    </Section>
  );
  const page = { current: SETTINGS_PATH, heading: settings.downloadData(), ...flash, children } as const;
  await sendAccountAreaPage(ctx, page, status);
}

/** Sends all data of the account as a JSON file, in batches, so that its size does not matter. */
export const downloadExport = showErrorsOn(renderExportPage)(async (ctx) => {
  const text = await startAccountExport(requireCaller(ctx), getRequestOrigin(ctx));
  ctx.type = 'application/json; charset=utf-8';
  ctx.set('content-disposition', `attachment; filename="${getBrand().slug}-account.json"`);
  ctx.set('cache-control', 'no-store');
  ctx.body = Readable.from(text);
});
