import { expect } from 'chai';
import { createVisitor, sendAccountForm } from '../harness/accountForms.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { findForm, type HttpBrowser, type HttpPage } from '../harness/httpBrowser.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { addTestKey, useTestModeService } from '../harness/testMode.ts';
import type { TestService } from '../harness/testService.ts';

type Fields = Record<string, string>;

const KEYS_PAGE = '/account/keys/';
const keyPage = (uuid: string) => `${KEYS_PAGE}${uuid}/`;
const KEY = /svc_[0-9a-f]{40}/;
/** Fields that browsers send if no option was entered, apart from the check boxes. */
const EMPTY = { expires_at: '', limit_credits: '', limit_period: 'day', allowed_ips: '', all_models: 'on' };
const WHOLE_ACCOUNT = { ...EMPTY, all_scopes: 'on' };
const ALL = ['all_scopes', 'all_models'];
const OPTIONS = {
  scopes: ['svc:read'],
  expires_at: '2099-01-01T00:00:00.000Z',
  credit_limit: { credits: 100, period: 'total' },
  allowed_models: ['vidmodel-video', 'imgmodel-2'],
  allowed_ips: ['192.0.2.7', '2001:db8::/32'],
};
const OPTION_FIELDS = {
  scopes: 'svc:read',
  expires_at: '2099-01-01',
  limit_credits: ' 100 ',
  limit_period: 'total',
  allowed_models: 'vidmodel-video imgmodel-2',
  allowed_ips: '192.0.2.7\r\n2001:db8::/32\r\n',
};
const { all_models: _all, ...WITHOUT_MODELS } = WHOLE_ACCOUNT;
/** Fields that are rejected, with a part of the reason and of the page that keeps what was entered. */
const INVALID: readonly [Fields, string, string][] = [
  [{ ...WHOLE_ACCOUNT, name: ' ' }, 'Name must have at least 1 character', 'name="all_scopes"'],
  [{ ...WHOLE_ACCOUNT, expires_at: 'next "week"' }, 'Expires at must be a date', 'value="next &quot;week&quot;"'],
  [{ ...WHOLE_ACCOUNT, expires_at: '2020-01-01' }, 'Expires at must be in the future', 'value="2020-01-01"'],
  [{ ...WHOLE_ACCOUNT, limit_credits: '1.5' }, 'The spending limit must be a whole number', 'value="1.5"'],
  [{ ...WHOLE_ACCOUNT, limit_credits: '5', limit_period: 'week' }, 'must be a day, a month or the total', 'value="5"'],
  [
    { ...WITHOUT_MODELS, allowed_models: '<model>' },
    '“<model>” is not a model.',
    '<span>&lt;model> <span class="hint">no longer offered</span></span>',
  ],
  [WITHOUT_MODELS, 'Choose all models, or at least one model.', 'name="all_models"'],
  [{ ...WHOLE_ACCOUNT, allowed_models: 'imgmodel-2' }, 'You chose all models and single models.', 'name="all_models"'],
  [{ ...WHOLE_ACCOUNT, allowed_ips: '10.0.0.1/8' }, 'has bits after its prefix', '>10.0.0.1/8</textarea>'],
  [EMPTY, 'Choose the whole account, or at least one scope.', 'name="all_scopes"'],
  [{ ...WHOLE_ACCOUNT, scopes: 'svc:read' }, 'You chose the whole account and single scopes.', 'name="all_scopes"'],
  [{ ...EMPTY, scopes: 'svc:admin' }, 'must be one of: svc:read, svc:write, account', 'name="all_scopes"'],
];

const getProblem = (page: string) => /role="alert"[^>]*>(.*?)<\//s.exec(page)?.[1];
const getTitle = (page: string) => /<title>(.*?) · /.exec(page)?.[1];
const getValue = (page: string, name: string) =>
  /value="([^"]*)"/.exec(new RegExp(`<input[^>]* name="${name}"[^>]*>`).exec(page)?.[0] ?? '')?.[1] ?? '';
const getText = (page: string, name: string) =>
  new RegExp(`<textarea[^>]* name="${name}"[^>]*>(.*?)</textarea>`, 's').exec(page)?.[1];
const getPeriod = (page: string) => {
  const selected = (page.match(/<option[^>]*>/g) ?? []).filter((tag) => / selected/.test(tag));
  return selected.map((tag) => /value="(day|month|total)"/.exec(tag)?.[1]).find(Boolean);
};
const listChecked = (page: string) =>
  (page.match(/<input[^>]* type="checkbox"[^>]*>|<input type="checkbox"[^>]*>/g) ?? [])
    .filter((box) => / checked/.test(box))
    .map((box) => / name="(all_\w+)"/.exec(box)?.[1] ?? / value="(.*?)"/.exec(box)?.[1] ?? '');
/** Reads the fields of the options as a page shows them. */
const readFields = (page: string) => ({
  expires_at: getValue(page, 'expires_at'),
  limit: [getValue(page, 'limit_credits'), getPeriod(page)],
  checked: listChecked(page),
  ips: getText(page, 'allowed_ips'),
});

const listKeys = async (owner: TestCustomer): Promise<any[]> =>
  (await owner.requestWithSession('GET', '/api/keys/')).body.data;
const findKey = async (owner: TestCustomer, uuid: string) => (await listKeys(owner)).find((key) => key.uuid === uuid);

describe('pages of API keys', () => {
  const testMode = useTestModeService({ workers: 0 });
  let service: TestService;
  let customer: TestCustomer;
  let visitor: HttpBrowser;
  before(async () => {
    ({ service } = testMode);
    await setAllModelsOnline(service);
  });
  beforeEach(async () => {
    ({ customer, visitor } = await createVisitor(service, 'studio'));
  });

  const at = (path: string) => `${service.baseUrl}${path}`;
  const show = async (path: string) => (await visitor.request(at(path))).text;

  /** Sends a form with exactly these fields beside the hidden ones. */
  async function send(path: string, fields: Fields): Promise<HttpPage> {
    const { allowed_models: models = '', ...others } = fields;
    const checked = models.split(' ').filter((slug) => slug !== '');
    return visitor.submitForm(at(path), [
      ...Object.entries({ ...findForm(await show(path), path).fields, ...others }),
      ...checked.map((slug): [string, string] => ['allowed_models', slug]),
    ]);
  }

  const listChanges = async () => {
    const rows = await service.sql(
      `SELECT e.details ->> 'changed' AS changed FROM security_events e JOIN accounts a ON a.id = e.account_id
        WHERE a.email = $1 AND e.event = 'key_changed' ORDER BY e.id`,
      [customer.email],
    );
    return rows.map(({ changed }) => changed as string);
  };

  describe('the form for a new key', () => {
    it('creates a key with options, which the list shows in short form', async () => {
      const page = await send(KEYS_PAGE, { name: 'nightly job', ...OPTION_FIELDS });
      expect([page.status, getTitle(page.text)]).to.deep.equal([200, 'API key created']);
      expect(page.text).to.match(KEY);
      // The key may not create.
      expect(page.text).to.not.include('Send a request with it');
      const [created] = await listKeys(customer);
      expect(created).to.deep.include({ name: 'nightly job', ...OPTIONS, credits_used: 0, resets_at: null });
      const list = await show(KEYS_PAGE);
      expect(list).to.include('Expires on 1 Jan 2099, 00:00 UTC.');
      expect(list).to.include('Spending limit: 0 of 100 credits in total are used.');
      expect(list).to.include('Scopes: svc:read.').and.to.include('2 allowed models.');
      expect(list)
        .to.include('2 allowed address ranges.')
        .and.to.include(`href="${keyPage(created.uuid)}"`);
      expect(list).to.include('Never expires, and may use the whole account.').and.to.not.match(KEY);
    });

    it('creates a key without options if they are left empty, and shows them closed', async () => {
      const list = await show(KEYS_PAGE);
      expect(list).to.match(/<details><summary>Options</);
      expect(readFields(list)).to.deep.equal({
        expires_at: '',
        limit: ['', 'day'],
        checked: ALL,
        ips: '',
      });
      const { text } = await send(KEYS_PAGE, { name: 'plain', ...WHOLE_ACCOUNT });
      const [key = ''] = KEY.exec(text) ?? [];
      expect(text).to.include('Send a request with it').and.to.include(`Authorization: Bearer ${key}`);
      const [created] = await listKeys(customer);
      expect(created.name).to.equal('plain');
      expect(created).to.not.have.any.keys(...Object.keys(OPTIONS));
    });

    it('names the plan that a request needs, and where its picture appears', async () => {
      for (const [plan, isNamed] of [
        [null, true],
        ['lite', false],
      ] as const) {
        const { visitor: owner } = await createVisitor(service, plan);
        const { text } = await sendAccountForm(service.baseUrl, owner, KEYS_PAGE, { name: 'first', ...WHOLE_ACCOUNT });
        expect(text.includes('<a href="/account/billing/#plans">Choose a plan</a> first'), String(plan)).to.equal(
          isNamed,
        );
        expect(text).to.include('The image appears in your <a href="/account/library/">library</a>.');
      }
    });

    it('rejects invalid options with the reason and keeps what was entered, as the page of a key does', async () => {
      const { uuid } = await createRestrictedKey(service, customer, OPTIONS);
      const before = await listKeys(customer);
      for (const [fields, problem, kept] of INVALID) {
        const name = fields['name'] ?? 'kept &amp; shown';
        for (const [path, title, mode] of [
          [KEYS_PAGE, 'Error: API keys', { mode: 'test' }],
          [keyPage(uuid), 'Error: API key', {}],
        ] as const) {
          const { status, text } = await send(path, { name: 'kept & shown', ...mode, ...fields });
          expect([status, getTitle(text)], problem).to.deep.equal([400, title]);
          expect(getProblem(text)?.replaceAll('&lt;', '<')).to.include(problem);
          expect(text, problem).to.include(kept).and.to.include(`value="${name}"`);
          if (path === KEYS_PAGE)
            expect(text, problem).to.match(/<option[^>]*value="test"[^>]* selected|<option selected value="test"/);
          expect(listChecked(text), problem).to.include.members(ALL.filter((name) => name in fields));
        }
      }
      expect(await listKeys(customer)).to.deep.equal(before);
      const { text } = await send(KEYS_PAGE, { name: 'x', ...OPTION_FIELDS, expires_at: 'never' });
      expect(text).to.match(/<details open[^>]*><summary>Options</);
      expect(readFields(text)).to.deep.include({
        expires_at: 'never',
        checked: ['svc:read', 'vidmodel-video', 'imgmodel-2'],
      });
      expect(getPeriod(text)).to.equal('total');
    });

    it('rejects a limit for a test key', async () => {
      const { status, text } = await send(KEYS_PAGE, { name: 'x', mode: 'test', ...WHOLE_ACCOUNT, limit_credits: '5' });
      expect([status, getProblem(text)]).to.deep.equal([400, 'A test key spends no credits and cannot have a limit.']);
    });
  });

  describe('the page of a key', () => {
    it('shows the options, and changes nothing if it is saved unchanged', async () => {
      const { uuid } = await createRestrictedKey(service, customer, OPTIONS);
      const before = await findKey(customer, uuid);
      const page = await show(keyPage(uuid));
      expect(readFields(page)).to.deep.equal({
        expires_at: '2099-01-01',
        limit: ['100', 'total'],
        checked: ['svc:read', 'vidmodel-video', 'imgmodel-2'],
        ips: '192.0.2.7\n2001:db8::/32',
      });
      // In another order, as the check boxes may have.
      const models = OPTIONS.allowed_models.toReversed().join(' ');
      const saved = await send(keyPage(uuid), { ...OPTION_FIELDS, allowed_models: models, name: before.name });
      expect([saved.status, saved.headers.get('location')]).to.deep.equal([303, `${keyPage(uuid)}?done=saved`]);
      expect(await findKey(customer, uuid)).to.deep.equal(before);
      expect(await listChanges()).to.deep.equal([]);
    });

    it('changes the name and options, removes empty ones, and records the change in the security log', async () => {
      const { uuid } = await createRestrictedKey(service, customer, OPTIONS);
      const changes = { name: ' renamed ', scopes: 'svc:write', expires_at: '2098-05-01', limit_credits: '7' };
      const fields = { ...OPTION_FIELDS, ...changes, limit_period: 'day', allowed_models: '', all_models: 'on' };
      await send(keyPage(uuid), fields);
      const changed = await findKey(customer, uuid);
      expect(changed).to.deep.include({
        name: 'renamed',
        scopes: ['svc:write'],
        expires_at: '2098-05-01T00:00:00.000Z',
        credit_limit: { credits: 7, period: 'day' },
        allowed_ips: OPTIONS.allowed_ips,
      });
      expect(changed).to.not.have.property('allowed_models');
      const page = await show(`${keyPage(uuid)}?done=saved`);
      expect(getTitle(page)).to.equal('The API key is saved');
      await send(keyPage(uuid), { name: 'renamed', ...WHOLE_ACCOUNT });
      expect(await findKey(customer, uuid)).to.not.have.any.keys(...Object.keys(OPTIONS));
      expect(await listChanges()).to.deep.equal([
        'name, credit_limit, scopes, expires_at, allowed_models',
        'credit_limit, scopes, expires_at, allowed_ips',
      ]);
    });

    it('keeps models that are no longer offered, by their names, and offers those on sale', async () => {
      const { uuid } = await createRestrictedKey(service, customer, { allowed_models: ['imgmodel-2'] });
      await service.sql(`UPDATE api_keys SET allowed_models = '{imgmodel-2,former-model}' WHERE uuid = $1`, [uuid]);
      await service.sql(
        `INSERT INTO catalog_models (slug, uuid, kind, name, released_at, removed_at)
           VALUES ('former-model', gen_random_uuid(), 'image', 'Former', now(), now())`,
      );
      const page = await show(keyPage(uuid));
      expect(page).to.include('<span>Former <span class="hint">no longer offered</span></span>');
      expect(listChecked(page)).to.include.members(['imgmodel-2', 'former-model']).and.to.not.include('all_models');
      expect(page).to.match(/name="allowed_models" value="vidmodel-video"\/?> Video model/);
      await send(keyPage(uuid), {
        ...WITHOUT_MODELS,
        name: 'renamed',
        all_scopes: 'on',
        allowed_models: 'former-model imgmodel-2',
      });
      expect(await findKey(customer, uuid)).to.deep.include({
        name: 'renamed',
        allowed_models: ['imgmodel-2', 'former-model'],
      });
    });

    it('keeps an expiry with a time of day', async () => {
      const expiresAt = '2099-01-01T09:30:00.000Z';
      const { uuid } = await createRestrictedKey(service, customer, { expires_at: expiresAt });
      const shown = getValue(await show(keyPage(uuid)), 'expires_at');
      await send(keyPage(uuid), { name: 'renamed', ...WHOLE_ACCOUNT, expires_at: shown });
      expect(await findKey(customer, uuid)).to.include({ name: 'renamed', expires_at: expiresAt });
      expect(await listChanges()).to.deep.equal(['name']);
    });

    it('shows what is used of a limit and when it resets, as the list does', async () => {
      const limit = { credits: 200, period: 'day' };
      const { uuid, customer: limited } = await createRestrictedKey(service, customer, { credit_limit: limit });
      await limited.createImage();
      for (const path of [KEYS_PAGE, keyPage(uuid)]) {
        const used = /8 of 200 credits a day are used; it resets on \d+ \w+ \d{4}, 00:00 UTC\./;
        expect(await show(path), path).to.match(used);
      }
    });

    it('has no limit for a test key, whose other options can be changed', async () => {
      const { uuid: key } = await addTestKey(customer);
      expect(await show(keyPage(key))).to.not.include('limit_credits');
      const { limit_credits: _credits, limit_period: _period, ...fields } = WHOLE_ACCOUNT;
      expect((await send(keyPage(key), { ...fields, name: 'x', expires_at: '2099-01-01' })).status).to.equal(303);
      expect(await findKey(customer, key)).to.include({ mode: 'test', expires_at: '2099-01-01T00:00:00.000Z' });
    });

    it('is 404 for a revoked key', async () => {
      const { uuid } = await createRestrictedKey(service, customer, {});
      const { fields } = findForm(await show(keyPage(uuid)), keyPage(uuid));
      await customer.requestWithSession('POST', `/api/keys/${uuid}/revoke/`);
      for (const page of [
        await visitor.request(at(keyPage(uuid))),
        await visitor.submitForm(at(keyPage(uuid)), { ...fields, name: 'stolen', ...WHOLE_ACCOUNT }),
      ]) {
        expect([page.status, getTitle(page.text)]).to.deep.equal([404, 'Error: API keys']);
        expect(getProblem(page.text)).to.include('does not exist or has already been revoked');
        expect(page.text).to.not.include('stolen');
      }
    });
  });
});
