import { expect } from 'chai';
import { sendAccountForm } from '../harness/accountForms.ts';
import { IMAGE, TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { createBrowserFor, findForm } from '../harness/httpBrowser.ts';
import {
  createPkce,
  getRedirectLocation,
  loadConsentPage,
  type OAuthTestClient,
  registerClient,
  submitConsent,
} from '../harness/oauthClient.ts';
import { addMember } from '../harness/members.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const IMAGE_ARGUMENTS = { prompt: 'a lighthouse', resolution: '1K' };

/** Creates an image over MCP. @returns the result of the tool. */
async function createImage(assistant: TestCustomer): Promise<any> {
  const headers = await openMcpSession(assistant);
  return (await postMcp(assistant, buildToolCall('generate_image', IMAGE_ARGUMENTS), { headers })).body.result;
}

/** Values of the fields of a page. */
const readFields = (page: string) => ({
  credits: /name="limit_credits"[^>]* value(?:="([^"]*)")?/
    .exec(page)
    ?.slice(1)
    .map((value) => value ?? '')[0],
  period: /<option[^>]*value="(\w+)"[^>]* selected|<option selected value="(\w+)"/.exec(page)?.slice(1).find(Boolean),
});

describe('the spending limit of an application', () => {
  const service = useTestService({ workers: 0, env: { APPLICATION_SPENDING_LIMIT: '200/day' } });
  let customer: TestCustomer;
  before(() => setAllModelsOnline(service));
  beforeEach(async () => {
    customer = await service.createCustomer('studio');
  });

  const readLimits = () =>
    service.sql(
      `SELECT l.client_id, l.credits, l.period, cast(l.used AS int) AS used FROM spending_limits l
         JOIN accounts a ON a.id = l.account_id WHERE a.email = $1 ORDER BY l.number`,
      [customer.email],
    );
  const countGrants = async () =>
    (
      await service.sql(
        'SELECT cast(count(*) AS int) AS n FROM oauth_grants g JOIN accounts a ON a.id = g.account_id WHERE a.email = $1',
        [customer.email],
      )
    )[0].n as number;

  /** Gives consent with these fields. @returns the customer with the access token in place of the key. */
  async function connect(
    client: OAuthTestClient,
    fields: Record<string, string> = {},
    changes: Record<string, string> = {},
  ): Promise<TestCustomer> {
    const { verifier, challenge } = createPkce();
    const path = client.authorizePath(challenge, changes);
    const approved = await submitConsent(service.baseUrl, customer, path, 'allow', fields);
    const code = new URL(getRedirectLocation(approved)).searchParams.get('code') ?? '';
    const { status, body } = await client.exchangeCode(code, verifier);
    expect(status).to.equal(200);
    return new TestCustomer(service.baseUrl, customer.email, customer.cookie, body.access_token);
  }

  const visit = async (path: string) => (await createBrowserFor(customer).request(`${service.baseUrl}${path}`)).text;
  const ask = (client: OAuthTestClient, changes: Record<string, string> = {}) =>
    loadConsentPage(service.baseUrl, customer, client.authorizePath(createPkce().challenge, changes));

  describe('on the consent page', () => {
    it('is preselected from APPLICATION_SPENDING_LIMIT beside the balance, and stored with the approval', async () => {
      const client = await registerClient(service.baseUrl);
      const { body } = await ask(client);
      expect(readFields(body)).to.deep.equal({ credits: '200', period: 'day' });
      expect(body).to.include('Your balance is 3,000 credits.');
      await connect(client, { limit_credits: '16', limit_period: 'month' });
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 16, period: 'month', used: 0 }]);
      const again = (await ask(client)).body;
      expect(readFields(again)).to.deep.equal({ credits: '16', period: 'month' });
      expect(again).to.match(/0 of 16 credits a month are used; it resets on 1 \w+ \d{4}, 00:00 UTC\./);
    });

    it('is not asked for and not stored if the application may only read', async () => {
      const client = await registerClient(service.baseUrl);
      expect((await ask(client, { scope: 'svc:read' })).body).to.not.include('limit_credits');
      await connect(client, { limit_credits: '5', limit_period: 'day' }, { scope: 'svc:read' });
      expect(await readLimits()).to.deep.equal([]);
    });

    it('is the default if the form has no such fields, and the present limit at a repeated approval', async () => {
      const client = await registerClient(service.baseUrl);
      await connect(client);
      await connect(client);
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 200, period: 'day', used: 0 }]);
      await connect(client, { limit_credits: '30', limit_period: 'month' });
      await connect(client);
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 30, period: 'month', used: 0 }]);
    });

    it('is removed by empty credits, and the default does not come back', async () => {
      const client = await registerClient(service.baseUrl);
      await connect(client);
      await connect(client, { limit_credits: ' ', limit_period: 'day' });
      expect((await readLimits())[0].credits).to.equal(null);
      await connect(client);
      expect((await readLimits())[0].credits).to.equal(null);
      expect(readFields((await ask(client)).body).credits).to.equal('');
    });

    it('is rejected with what was entered if it is invalid, and nothing is approved', async () => {
      const client = await registerClient(service.baseUrl, { client_name: 'Careless assistant' });
      const path = client.authorizePath(createPkce().challenge);
      const invalid: Record<string, string>[] = [
        ...['0', '-5', '1.5', '12x', '9999999999', '1,000', '"><b>'].map((credits) => ({
          limit_credits: credits,
          limit_period: 'day',
        })),
        { limit_credits: '10', limit_period: 'total' },
        { limit_credits: '10', limit_period: 'constructor' },
        { limit_credits: '10' },
      ];
      for (const fields of invalid) {
        const { status, body } = await submitConsent(service.baseUrl, customer, path, 'allow', fields);
        expect([status, body.includes('Connect Careless assistant?')], JSON.stringify(fields)).to.deep.equal([
          400,
          true,
        ]);
        expect(body).to.include('<title>Error: ').and.include('role="alert"').and.include('aria-invalid="true"');
        expect(readFields(body).credits).to.equal(
          String(fields['limit_credits']).replace('"', '&quot;').replace('<', '&lt;'),
        );
      }
      expect([await countGrants(), await readLimits()]).to.deep.equal([0, []]);
      // A denial needs no valid limit.
      const denied = await submitConsent(service.baseUrl, customer, path, 'deny', invalid[0]);
      expect(new URL(getRedirectLocation(denied)).searchParams.get('error')).to.equal('access_denied');
    });

    it('is stored once by concurrent approvals', async () => {
      const client = await registerClient(service.baseUrl);
      await Promise.all(Array.from({ length: 8 }, () => connect(client, { limit_credits: '40', limit_period: 'day' })));
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 40, period: 'day', used: 0 }]);
      expect(await countGrants()).to.equal(8);
    });
  });

  describe('over MCP', () => {
    it('ends creating with the limit, its reset time and what the person can do, also over REST', async () => {
      const client = await registerClient(service.baseUrl, { client_name: 'Desk assistant' });
      const assistant = await connect(client, { limit_credits: '20', limit_period: 'day' });
      for (let count = 0; count < 2; count += 1) expect((await createImage(assistant)).isError).to.not.equal(true);
      const rejected = await createImage(assistant);
      expect(rejected.isError).to.equal(true);
      expect(rejected.structuredContent.error).to.equal('spending_limit_reached');
      expect(rejected.structuredContent.detail).to.match(
        /^The spending limit of the application Desk assistant is 20 credits per day: 16 are used, and this generation costs 8\. The limit resets at \d{4}-\d\d-\d\dT00:00:00\.000Z\. /,
      );
      expect(rejected.content[0].text)
        .to.include('spending_limit_reached: ')
        .and.include(`${service.baseUrl}/account/applications/`);
      expect(await customer.balance()).to.equal(3_000 - 16);
      const { access_token: token } = await client.authorizeAndExchange(customer, {
        resource: `${service.baseUrl}/api/`,
      });
      const program = new TestCustomer(service.baseUrl, customer.email, customer.cookie, token);
      expectError(
        await program.createGeneration(IMAGE),
        'spending_limit_reached',
        'The spending limit of the application Desk assistant is 20 credits per day: 16 are used',
      );
      const estimate = await program.request('POST', '/api/generations/estimate/', { body: { ...IMAGE, prompt: 'a' } });
      expect(estimate.body.refusal.error).to.equal('spending_limit_reached');
      // The owner's key is not the application.
      await customer.createImage();
      expect((await readLimits())[0].used).to.equal(16);
    });

    it('keeps the credits of its window when the application is disconnected and connected again', async () => {
      const client = await registerClient(service.baseUrl);
      await createImage(await connect(client, { limit_credits: '10', limit_period: 'day' }));
      const [{ uuid }] = await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [client.clientId]);
      await sendAccountForm(service.baseUrl, createBrowserFor(customer), `/account/applications/${uuid}/end/`);
      const { body } = await ask(client);
      expect(readFields(body)).to.deep.equal({ credits: '10', period: 'day' });
      expect(body).to.include('8 of 10 credits a day are used');
      const again = await connect(client, { limit_credits: '10', limit_period: 'day' });
      expect((await createImage(again)).structuredContent.error).to.equal('spending_limit_reached');
    });
  });

  describe('under connected applications', () => {
    let client: OAuthTestClient;
    let assistant: TestCustomer;
    let limitPath: string;
    beforeEach(async () => {
      client = await registerClient(service.baseUrl, { client_name: 'Desk assistant' });
      assistant = await connect(client, { limit_credits: '10', limit_period: 'day' });
      limitPath = `/account/applications/${await findGrant()}/limit/`;
    });

    const findGrant = async () =>
      (await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [client.clientId]))[0].uuid as string;
    const save = (fields: Record<string, string>, owner = customer) =>
      sendAccountForm(service.baseUrl, createBrowserFor(owner), limitPath, fields);

    it('is shown with its use and reset, and a change applies to the next generation', async () => {
      await createImage(assistant);
      expect((await createImage(assistant)).structuredContent.error).to.equal('spending_limit_reached');
      const page = await visit('/account/applications/');
      expect(page).to.match(/Spending limit: 8 of 10 credits a day are used; it resets on \d+ \w+ \d{4}, 00:00 UTC\./);
      expect(page).to.include(`href="${limitPath}"`);
      const form = await visit(limitPath);
      expect(readFields(form)).to.deep.equal({ credits: '10', period: 'day' });
      expect(form).to.include('Your balance is 2,992 credits.');
      const saved = await save({ limit_credits: '16', limit_period: 'day' });
      expect([saved.status, saved.headers.get('location')]).to.deep.equal([
        303,
        '/account/applications/?done=limit-saved',
      ]);
      expect((await createImage(assistant)).isError).to.not.equal(true);
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 16, period: 'day', used: 16 }]);
    });

    it('is removed by empty credits and can be set again, and counts what was created in between', async () => {
      await save({ limit_credits: '', limit_period: 'day' });
      expect(await visit('/account/applications/')).to.include('No spending limit.');
      await createImage(assistant);
      await createImage(assistant);
      await save({ limit_credits: '20', limit_period: 'month' });
      expect(await readLimits()).to.deep.equal([
        { client_id: client.clientId, credits: 20, period: 'month', used: 16 },
      ]);
      expect((await createImage(assistant)).structuredContent.detail).to.include(
        'is 20 credits per month: 16 are used',
      );
    });

    it('is not raised or removed by a member who lacks rights of another who connected the application', async () => {
      const developer = await addMember(customer, 'developer');
      const approve = (fields: Record<string, string>) =>
        submitConsent(service.baseUrl, developer, client.authorizePath(createPkce().challenge), 'allow', fields);
      const grants = await countGrants();
      for (const fields of [
        { limit_credits: '11', limit_period: 'day' },
        { limit_credits: '5', limit_period: 'month' },
        { limit_credits: '', limit_period: 'day' },
      ]) {
        const saved = await save(fields, developer);
        expect([saved.status, saved.text.includes('acts with the role owner')]).to.deep.equal([403, true]);
        const approved = await approve(fields);
        expect([approved.status, String(approved.body).includes('acts with the role owner')]).to.deep.equal([
          403,
          true,
        ]);
      }
      expect(await countGrants()).to.equal(grants);
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 10, period: 'day', used: 0 }]);
      expect((await save({ limit_credits: '9', limit_period: 'day' }, developer)).status).to.equal(303);
      expect((await approve({ limit_credits: '8', limit_period: 'day' })).status).to.equal(200);
      expect((await save({ limit_credits: '20', limit_period: 'day' })).status).to.equal(303);
      const own = await registerClient(service.baseUrl);
      const path = own.authorizePath(createPkce().challenge);
      for (const credits of ['5', ''])
        expect(
          (
            await submitConsent(service.baseUrl, developer, path, 'allow', {
              limit_credits: credits,
              limit_period: 'day',
            })
          ).status,
        ).to.equal(200);
    });

    it('stays if the form is invalid, which is shown again', async () => {
      for (const fields of [
        { limit_credits: 'many', limit_period: 'day' },
        { limit_credits: '5', limit_period: 'year' },
      ]) {
        const { status, text } = await save(fields);
        expect([status, readFields(text).credits]).to.deep.equal([400, fields.limit_credits]);
        expect(text).to.include('role="alert"').and.include('The ');
      }
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 10, period: 'day', used: 0 }]);
    });

    it('cannot be changed after the application was disconnected', async () => {
      const { fields } = findForm(await visit(limitPath), limitPath);
      await service.sql('UPDATE oauth_grants SET revoked_at = now() WHERE client_id = $1', [client.clientId]);
      const late = { ...fields, limit_credits: '1000' };
      expect((await createBrowserFor(customer).submitForm(service.baseUrl + limitPath, late)).status).to.equal(404);
      expect(await readLimits()).to.deep.equal([{ client_id: client.clientId, credits: 10, period: 'day', used: 0 }]);
    });

    it('is recorded in the security log with each change', async () => {
      await save({ limit_credits: '1000', limit_period: 'month' });
      await save({ limit_credits: '1000', limit_period: 'month' });
      await save({ limit_credits: '', limit_period: 'month' });
      const log = await visit('/account/security/');
      const found = [...log.matchAll(/Spending limit of Desk assistant [^<]+/g)].map(([text]) => text.trim());
      expect(found).to.deep.equal([
        'Spending limit of Desk assistant removed',
        'Spending limit of Desk assistant set to 1,000 credits a month',
        'Spending limit of Desk assistant set to 10 credits a day',
      ]);
    });
  });
});
