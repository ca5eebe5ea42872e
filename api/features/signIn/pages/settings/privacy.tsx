import type { VNode } from 'preact';
import type { Context } from '../../../../context.ts';
import { mayDo } from '../../../../web/components/areaPage.tsx';
import { Section } from '../../../../web/components/section.tsx';
import { t } from './texts.ts';

/** Links to the security log, and for the owner to the export and the deletion of the account. */
export function PrivacySection({ ctx }: { ctx: Context }): VNode | null {
  if (!mayDo(ctx, 'viewSecurityLog')) return null;
  return (
    <Section id="privacy" title={t.privacy()}>
      <div class="buttons">
        <a class="button" href="/account/security/">
          {t.securityLog()}
        </a>
        {mayDo(ctx, 'own') ? (
          <>
            <a class="button" href="/account/export/">
              {t.downloadData()}
            </a>
            <a class="button danger" href="/account/delete/">
              {t.deleteAccount()}
            </a>
          </>
        ) : null}
      </div>
    </Section>
  );
}
