import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { TestCustomer } from './apiClient.ts';
import { type TestService, type TestServiceOptions, startTestService } from './testService.ts';
import { useService } from './useService.ts';

/** A service with test mode: `testUpstream` runs the generations of test keys, `service.upstream` all others. */
export interface TestModeService {
  service: TestService;
  testUpstream: FakeUpstream;
  stop(): Promise<void>;
}

/** Starts a service whose test upstream is a fake provider of its own. */
export async function startTestModeService(options: TestServiceOptions = {}): Promise<TestModeService> {
  const testUpstream = await new FakeUpstream().start();
  const service = await startTestService({ ...options, env: { TEST_UPSTREAM_URL: testUpstream.url, ...options.env } });
  const stop = async () => {
    try {
      await service.stop();
    } finally {
      await testUpstream.stop();
    }
  };
  return { service, testUpstream, stop };
}

/** Creates a test key of a customer. @returns the customer with that key, and its uuid. */
export async function addTestKey(customer: TestCustomer, name = 'ci'): Promise<{ uuid: string; tester: TestCustomer }> {
  const { status, body } = await customer.requestWithSession('POST', '/api/keys/create/', {
    body: { name, mode: 'test' },
  });
  if (status !== 201) throw new Error(`No test key: ${status} ${JSON.stringify(body)}`);
  return { uuid: body.uuid, tester: new TestCustomer(customer.baseUrl, customer.email, customer.cookie, body.key) };
}

/** {@link startTestModeService} before the tests of the suite, and stops it after them. */
export const useTestModeService = (options?: TestServiceOptions): TestModeService =>
  useService(() => startTestModeService(options));
