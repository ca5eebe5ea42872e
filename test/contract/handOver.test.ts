import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { startAccountExport } from '../../shared/domain/privacy/export.ts';
import { getPageWithForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { createBrowserFor, findForm, type HttpPage } from '../harness/httpBrowser.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { addMember, findListed } from '../harness/members.ts';
import { getAccountId } from '../harness/outbox.ts';
import { useTestService } from '../harness/testService.ts';

const EXPORT = '/account/export/';
const DELETE = '/account/delete/';
const UNDO = '/account/delete/undo/';

/** Statements that hand an account over after a restore. */
const [, HAND_OVER = ''] =
  /^BEGIN;\n(UPDATE members.*?)^COMMIT;$/ms.exec(
    readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8'),
  ) ?? [];

/** Builds the statements that make the second member the owner. */
const buildHandOver = (id: number) =>
  HAND_OVER.replaceAll(':account', String(id)).replace(
    ":'uuid'",
    `(SELECT uuid FROM members WHERE account_id = ${id} AND number = 2)`,
  );

describe('a hand-over of an account', () => {
  const service = useTestService({ workers: 0 });

  const readDeletion = async (id: number) =>
    (await service.sql('SELECT deletion_requested_at FROM accounts WHERE id = $1', [id]))[0].deletion_requested_at;

  /** Submits a form of the owner, and hands the account over before it gets the lock. */
  async function submitMeanwhile(id: number, owner: TestCustomer, action: string, fields = {}): Promise<HttpPage> {
    const visitor = createBrowserFor(owner);
    const { text } = await visitor.request(service.baseUrl + getPageWithForm(action));
    const form = { ...findForm(text, action).fields, ...fields };
    let submitted: Promise<HttpPage> | undefined;
    await whileAccountIsLocked(service, id, async (holder) => {
      submitted = visitor.submitForm(service.baseUrl + action, form);
      await waitForLockWaits(service);
      await holder.query(buildHandOver(id));
    });
    return submitted as Promise<HttpPage>;
  }

  it('is repeated after a restore by statements that leave the same rows', async () => {
    const states = [];
    for (const isRestored of [false, true]) {
      const owner = await service.createCustomer(null);
      const heir = await addMember(owner, 'developer');
      const id = await getAccountId(service, owner);
      await service.sql(
        `WITH enrolled AS (UPDATE accounts SET is_affiliate = true WHERE id = $1)
         INSERT INTO affiliates (account_id, code, connect_account_id, connect_onboarded, payout_enabled, created_at)
         VALUES ($1, $2, $2, true, true, now())`,
        [id, `code-${id}`],
      );
      const { uuid } = await findListed(owner, heir);
      if (isRestored) await service.sql(buildHandOver(id));
      else expect((await owner.requestWithSession('POST', `/api/members/${uuid}/hand-over/`)).status).to.equal(204);
      const [state] = await service.sql(
        `SELECT (SELECT json_agg(role ORDER BY number) FROM members WHERE account_id = a.id) AS roles,
                (SELECT json_agg(lacks_staff_rights) FROM api_keys WHERE account_id = a.id) AS keys,
                f.connect_account_id, f.connect_onboarded, f.payout_enabled, a.email = $2 AS is_address_of_heir,
                a.first_name, a.language, a.use_case, a.social_provider
           FROM accounts a JOIN affiliates f ON f.account_id = a.id WHERE a.id = $1`,
        [id, heir.email],
      );
      states.push(state);
    }
    expect(states[1]).to.deep.equal(states[0]);
    expect(states[0]).to.deep.include({ roles: ['admin', 'owner'], keys: [true], is_address_of_heir: true });
  });

  it('leaves the former owner no download that waited for it', async () => {
    const owner = await service.createCustomer(null);
    const heir = await addMember(owner, 'admin');
    const id = await getAccountId(service, owner);
    const { status, text } = await submitMeanwhile(id, owner, EXPORT);
    expect([status, text.includes('role of the member was changed')]).to.deep.equal([403, true]);
    expect(text).not.to.include(heir.email);
    expect(
      await service.sql(`SELECT 1 FROM security_events WHERE account_id = $1 AND event = 'data_exported'`, [id]),
    ).to.deep.equal([]);
  });

  it('is not followed by a deletion that the former owner requested before, or by the undo of one', async () => {
    const owner = await service.createCustomer(null);
    const heir = await addMember(owner, 'admin');
    const id = await getAccountId(service, owner);
    const requested = await submitMeanwhile(id, owner, DELETE, { email: heir.email });
    expect([requested.status, await readDeletion(id)]).to.deep.equal([403, null]);

    const other = await service.createCustomer(null);
    await addMember(other, 'admin');
    const otherId = await getAccountId(service, other);
    const visitor = createBrowserFor(other);
    const { fields } = findForm((await visitor.request(service.baseUrl + DELETE)).text, DELETE);
    const deleted = await visitor.submitForm(service.baseUrl + DELETE, { ...fields, email: other.email });
    expect(deleted.status).to.equal(303);
    expect((await submitMeanwhile(otherId, other, UNDO)).status).to.equal(403);
    expect(await readDeletion(otherId)).to.not.equal(null);
  });

  it('during a download leaves it with the sessions of the person who began it', async () => {
    const owner = await service.createCustomer(null);
    const heir = await addMember(owner, 'admin');
    const download = await startAccountExport(buildServiceCaller(await getAccountId(service, owner)), SERVICE_ORIGIN);
    const { uuid } = await findListed(owner, heir);
    expect((await owner.requestWithSession('POST', `/api/members/${uuid}/hand-over/`)).status).to.equal(204);
    let text = '';
    for await (const part of download) text += part;
    const sessions = await service.sql(
      'SELECT s.uuid FROM sessions s JOIN people p ON p.id = s.person_id WHERE p.email = $1',
      [owner.email],
    );
    expect(JSON.parse(text).sessions.map((session: { uuid: string }) => session.uuid)).to.deep.equal(
      sessions.map((session) => session.uuid),
    );
  });
});
