import { expect } from 'chai';
import { TestCustomer, IMAGE, VIDEO } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { completeAllGenerations, seedImages, setAllModelsOnline, setModelHealth } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

describe('the checks of a create', () => {
  const service = useTestService({ workers: 0 });
  beforeEach(() => setAllModelsOnline(service));

  it('the order of checks is 401, 400, 402 subscription_required, 503, 409, 402 insufficient_credits', async () => {
    const customer = await service.createCustomer(null);
    const stranger = new TestCustomer(service.baseUrl, '', '', `svc_${'0'.repeat(40)}`);
    const broken = { model: 'imgmodel-2', params: { resolution: '3K' } };
    await setModelHealth(service, 'imgmodel-2', 'offline');

    expectError(await stranger.createGeneration(broken), 'invalid_api_key');
    expectError(await customer.createGeneration(broken), 'validation_error', 'params.resolution');
    expectError(await customer.createGeneration(IMAGE), 'subscription_required');
    await customer.requestWithSession('POST', '/api/billing/checkout/', { body: { plan: 'lite' } });
    // Two in flight, and no credits left.
    await setAllModelsOnline(service);
    await customer.createImage();
    await customer.createImage();
    await seedImages(service, customer, 184);
    await setModelHealth(service, 'imgmodel-2', 'offline');
    expectError(await customer.createGeneration(IMAGE), 'model_unavailable');
    await setAllModelsOnline(service);
    expectError(await customer.createGeneration(IMAGE), 'parallel_limit_reached');
    await completeAllGenerations(service, customer);
    expectError(await customer.createGeneration(IMAGE), 'insufficient_credits');
    expect(await customer.balance()).to.equal(0);
  });

  describe('an offline model', () => {
    it('rejects creates with 503 model_unavailable and charges nothing', async () => {
      const customer = await service.createCustomer('pro');
      await setModelHealth(service, 'imgmodel-2', 'offline');
      expectError(await customer.createGeneration(IMAGE), 'model_unavailable', 'imgmodel-2');
      expect((await customer.createGeneration(VIDEO)).status).to.equal(201);
      expect(await customer.balance()).to.equal(1065);
    });

    it('is a model that no worker has probed for 45 seconds', async () => {
      const customer = await service.createCustomer('pro');
      await setModelHealth(service, 'imgmodel-2', 'online', 46);
      expectError(await customer.createGeneration(IMAGE), 'model_unavailable');
      await setModelHealth(service, 'imgmodel-2', 'online', 30);
      expect((await customer.createGeneration(IMAGE)).status).to.equal(201);
    });
  });
});
