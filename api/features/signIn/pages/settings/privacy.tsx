import type { VNode } from 'preact';

/** Links to the security log, the export and the deletion of the account. */
export function PrivacySection(): VNode {
  return (
    <section class="card" aria-labelledby="privacy">
      <h2 id="privacy">Security and privacy</h2>
      <div class="buttons">
        <a class="button" href="/account/security/">
          Security log
        </a>
        <a class="button" href="/account/export/">
          Download your data
        </a>
        <a class="button danger" href="/account/delete/">
          Delete account
        </a>
      </div>
    </section>
  );
}
