import { expect } from 'chai';
import { TestCustomer } from '../harness/apiClient.ts';
import { buildToolCall, CLIENT_NAMES, connectMcpClient, INITIALIZE, postMcp } from '../harness/mcpClient.ts';
import { registerClient } from '../harness/oauthClient.ts';
import { addTopupCredits, seedImages, setAllModelsOnline, setModelHealth } from '../harness/seeds.ts';
import { setApplicationLimit, setKeyLimit } from '../harness/spendingLimits.ts';
import { useTestService } from '../harness/testService.ts';

const CALL = { name: 'generate_image', arguments: { prompt: 'a lighthouse', resolution: '1K' } };
const URL_ELICITATION = { elicitation: { url: {} } };

/** Returns the error of a promise that must be rejected. */
const catchError = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    (value) => expect.fail(`Resolved to ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );

describe('MCP: URL elicitation', () => {
  const service = useTestService({ workers: 0 });
  before(() => setAllModelsOnline(service));

  async function createPoorCustomer(): Promise<TestCustomer> {
    const customer = await service.createCustomer('lite');
    await seedImages(service, customer, 195);
    return customer;
  }

  /** Replaces the credential of a customer by the token of an application that may spend this. */
  async function connectApplication(customer: TestCustomer, credits: number): Promise<TestCustomer> {
    const client = await registerClient(service.baseUrl);
    const { access_token: token } = await client.authorizeAndExchange(customer);
    await setApplicationLimit(service, customer, client.clientId, { credits, period: 'day' });
    return new TestCustomer(customer.baseUrl, customer.email, customer.cookie, token);
  }

  for (const name of ['sdk 1', 'sdk 2'] as const) {
    it(`a client with URL elicitation receives the address of the billing page (${name})`, async () => {
      const customer = await createPoorCustomer();
      const assistant = await connectMcpClient(customer, name, undefined, URL_ELICITATION);
      const error = await catchError(assistant.client.callTool(CALL));
      expect(error.code).to.equal(-32_042);
      expect(error.message).to.match(/insufficient_credits: .*8 credits.*\/account\/billing\/$/);
      const [elicitation, ...others] = error.elicitations;
      expect(others).to.deep.equal([]);
      expect(elicitation).to.deep.include({ mode: 'url', url: `${service.baseUrl}/account/billing/` });
      expect(elicitation.message).to.match(/8 credits of this generation\. Top up, or wait for the next grant\.$/);
      const again = await catchError(assistant.client.callTool(CALL));
      expect(again.elicitations[0].elicitationId).not.to.equal(elicitation.elicitationId);

      await addTopupCredits(service, customer, 100);
      expect((await assistant.client.callTool(CALL)).structuredContent.credits_charged).to.equal(8);
      await assistant.close();
    });
  }

  describe('at a spending limit', () => {
    it('a client receives the page of the limit of its key, and can repeat the call after the change', async () => {
      const customer = await service.createCustomer('studio');
      await setKeyLimit(service, customer, { credits: 10, period: 'month' });
      const { body } = await customer.requestWithSession('GET', '/api/keys/');
      const assistant = await connectMcpClient(customer, 'sdk 1', undefined, URL_ELICITATION);
      expect((await assistant.client.callTool(CALL)).structuredContent.credits_charged).to.equal(8);
      const error = await catchError(assistant.client.callTool(CALL));
      expect(error.code).to.equal(-32_042);
      const [{ url, message }] = error.elicitations;
      expect(url).to.equal(`${service.baseUrl}/account/keys/${body.data[0].uuid}/`);
      expect(message)
        .to.match(/is 10 credits per month: 8 are used, and this generation costs 8\./)
        .and.match(/The limit resets at \d{4}-\d\d-01T00:00:00\.000Z\./)
        .and.match(/The owner of the account can change the limit at .*\/account\/keys\//);
      const page = await customer.requestWithSession('GET', new URL(url).pathname);
      expect([page.status, page.body.includes('limit_credits')]).to.deep.equal([200, true]);
      await setKeyLimit(service, customer, { credits: 16, period: 'month' });
      expect((await assistant.client.callTool(CALL)).structuredContent.credits_charged).to.equal(8);
      await assistant.close();
    });

    it('a stateless client receives the page of connected applications, and a tool error after the second attempt', async () => {
      const customer = await service.createCustomer('studio');
      const application = await connectApplication(customer, 5);
      const assistant = await connectMcpClient(application, 'sdk 2, stateless', undefined, URL_ELICITATION);
      const shown: any[] = [];
      assistant.client.setRequestHandler('elicitation/create', async ({ params }: any) => {
        shown.push(params);
        return { action: 'decline' };
      });
      const { isError, structuredContent } = await assistant.client.callTool(CALL);
      expect([isError, structuredContent.error]).to.deep.equal([true, 'spending_limit_reached']);
      expect(shown.map(({ url }) => url)).to.deep.equal([`${service.baseUrl}/account/applications/`]);
      expect(shown[0].message).to.match(/It costs more than the whole limit, so waiting does not help\./);
      expect(await customer.balance()).to.equal(3_000);
      await assistant.close();
    });

    it('a client without the capability receives the tool error with the limit and what the person can do', async () => {
      const application = await connectApplication(await service.createCustomer('studio'), 5);
      const assistant = await connectMcpClient(application);
      const { isError, structuredContent, content } = await assistant.client.callTool(CALL);
      expect([isError, structuredContent.error]).to.deep.equal([true, 'spending_limit_reached']);
      expect(content[0].text)
        .to.include(`at ${service.baseUrl}/account/applications/ (connected applications).`)
        .and.match(/Do not repeat the call before that; ask the user\.$/);
      await assistant.close();
    });
  });

  it('an account without a plan is sent to the plans', async () => {
    const assistant = await connectMcpClient(await service.createCustomer(null), 'sdk 1', undefined, URL_ELICITATION);
    const error = await catchError(assistant.client.callTool(CALL));
    const message = 'Creating generations requires an active subscription. Choose a plan, then try again.';
    expect(error.elicitations[0].message).to.equal(message);
    await assistant.close();
  });

  it('a stateless client shows the page to its user, repeats the call and is charged once', async () => {
    const customer = await createPoorCustomer();
    const assistant = await connectMcpClient(customer, 'sdk 2, stateless', undefined, URL_ELICITATION);
    const shown: any[] = [];
    assistant.client.setRequestHandler('elicitation/create', async ({ params }: any) => {
      shown.push(params);
      await addTopupCredits(service, customer, 100);
      return { action: 'accept' };
    });
    const { structuredContent } = await assistant.client.callTool(CALL);
    expect(structuredContent).to.deep.include({ status: 'queued', credits_charged: 8 });
    expect(shown.map(({ mode, url }) => [mode, url])).to.deep.equal([['url', `${service.baseUrl}/account/billing/`]]);
    expect(await customer.balance()).to.equal(97);
    await assistant.close();
  });

  for (const action of ['accept', 'decline', 'cancel'] as const) {
    it(`a stateless client whose user did not add credits receives the tool error after "${action}"`, async () => {
      const customer = await createPoorCustomer();
      const assistant = await connectMcpClient(customer, 'sdk 2, stateless', undefined, URL_ELICITATION);
      let times = 0;
      assistant.client.setRequestHandler('elicitation/create', async () => {
        times += 1;
        return { action };
      });
      const { isError, structuredContent } = await assistant.client.callTool(CALL);
      expect([isError, structuredContent.error, times]).to.deep.equal([true, 'insufficient_credits', 1]);
      await assistant.close();
    });
  }

  for (const name of CLIENT_NAMES) {
    for (const [what, capabilities] of [
      ['no capability', {}],
      ['elicitation by forms only', { elicitation: {} }],
    ] as const) {
      it(`a client with ${what} receives the tool error (${name})`, async () => {
        const assistant = await connectMcpClient(await createPoorCustomer(), name, undefined, capabilities);
        const { isError, structuredContent } = await assistant.client.callTool(CALL);
        expect([isError, structuredContent.error]).to.deep.equal([true, 'insufficient_credits']);
        await assistant.close();
      });
    }
  }

  it('a session with an earlier version receives the tool error, although the client declares URL elicitation', async () => {
    const customer = await createPoorCustomer();
    for (const [protocolVersion, code] of [
      ['2025-06-18', undefined],
      ['2024-11-05', undefined],
      ['2025-11-25', -32_042],
    ] as const) {
      const params = { ...INITIALIZE.params, protocolVersion, capabilities: URL_ELICITATION };
      const { headers } = await postMcp(customer, { ...INITIALIZE, params });
      const session = { 'mcp-session-id': headers.get('mcp-session-id') as string };
      const { body } = await postMcp(customer, buildToolCall(CALL.name, CALL.arguments), { headers: session });
      expect(body.error?.code, protocolVersion).to.equal(code);
      if (code === undefined) expect(body.result.structuredContent.error).to.equal('insufficient_credits');
    }
  });

  it('other errors, and estimates, stay results for a client with URL elicitation', async () => {
    const assistant = await connectMcpClient(await createPoorCustomer(), 'sdk 1', undefined, URL_ELICITATION);
    const invalid = await assistant.client.callTool({ ...CALL, arguments: { prompt: 'x' } });
    expect(invalid.structuredContent.error).to.equal('validation_error');
    const estimate = await assistant.client.callTool({ ...CALL, arguments: { ...CALL.arguments, dry_run: true } });
    expect(estimate.structuredContent.refusal.error).to.equal('insufficient_credits');
    await setModelHealth(service, 'imgmodel-2', 'offline');
    const offline = await assistant.client.callTool(CALL);
    expect([offline.isError, offline.structuredContent.error]).to.deep.equal([true, 'model_unavailable']);
    await setAllModelsOnline(service);
    await assistant.close();
  });
});
