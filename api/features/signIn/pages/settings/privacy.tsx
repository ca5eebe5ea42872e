import type { VNode } from 'preact';
import { t } from './texts.ts';

/** Links to the security log, the export and the deletion of the account. */
export function PrivacySection(): VNode {
  return (
    <section class="card" aria-labelledby="privacy">
      <h2 id="privacy">{t.privacy()}</h2>
      <div class="buttons">
        <a class="button" href="/account/security/">
          {t.securityLog()}
        </a>
        <a class="button" href="/account/export/">
          {t.downloadData()}
        </a>
        <a class="button danger" href="/account/delete/">
          {t.deleteAccount()}
        </a>
      </div>
    </section>
  );
}
