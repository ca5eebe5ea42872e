import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { CLIENT_NAMES, connectMcpClient } from '../harness/mcpClient.ts';
import { addTopupCredits, seedImages, setAllModelsOnline } from '../harness/seeds.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const CALL = { name: 'generate_image', arguments: { prompt: 'a lighthouse', resolution: '1K' } };
const URL_ELICITATION = { elicitation: { url: {} } };

/** Returns the error of a promise that must be rejected. */
const catchError = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    (value) => expect.fail(`Resolved to ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );

describe('MCP: URL elicitation', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ workers: 0 });
    await setAllModelsOnline(service);
  });
  after(() => service.stop());

  async function createPoorCustomer(): Promise<TestCustomer> {
    const customer = await service.createCustomer('lite');
    await seedImages(service, customer, 195);
    return customer;
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
      expect(elicitation.message).to.match(/8 credits.*Add credits on the billing page, then repeat the request\.$/);
      const again = await catchError(assistant.client.callTool(CALL));
      expect(again.elicitations[0].elicitationId).not.to.equal(elicitation.elicitationId);

      await addTopupCredits(service, customer, 100);
      expect((await assistant.client.callTool(CALL)).structuredContent.credits_charged).to.equal(8);
      await assistant.close();
    });
  }

  it('an account without a plan is sent to the plans', async () => {
    const assistant = await connectMcpClient(await service.createCustomer(null), 'sdk 1', undefined, URL_ELICITATION);
    const error = await catchError(assistant.client.callTool(CALL));
    expect(error.elicitations[0].message).to.match(/Choose a plan on the billing page/);
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

  it('other errors, and estimates, stay results for a client with URL elicitation', async () => {
    const assistant = await connectMcpClient(await createPoorCustomer(), 'sdk 1', undefined, URL_ELICITATION);
    const invalid = await assistant.client.callTool({ ...CALL, arguments: { prompt: 'x' } });
    expect(invalid.structuredContent.error).to.equal('validation_error');
    const estimate = await assistant.client.callTool({ ...CALL, arguments: { ...CALL.arguments, dry_run: true } });
    expect(estimate.structuredContent.refusal.error).to.equal('insufficient_credits');
    await assistant.close();
  });
});
