import { expect } from 'chai';
import { verifyWebhook } from '../../packages/client/src/index.ts';
import { WebhookReceiver } from '../fakes/webhookReceiver.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { TestTerminal } from '../harness/cliTerminal.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

describe('genmeter webhooks listen', () => {
  let service: TestService;
  let customer: TestCustomer;
  const receiver = new WebhookReceiver();
  before(async () => {
    service = await startTestService();
    await receiver.start();
  });
  after(async () => {
    await service.stop();
    await receiver.stop();
  });
  beforeEach(async () => {
    customer = await service.createCustomer();
    service.upstream.reset();
    receiver.received.splice(0);
  });
  const createTerminal = () => new TestTerminal({ GENMETER_URL: service.baseUrl, GENMETER_KEY: customer.key });

  it('forwards signed messages about generations that end from now on, until it is interrupted', async () => {
    service.upstream.outcome = 'wait';
    await customer.createImage('in progress');
    await eventually('submitted', () => service.upstream.jobsFor('in progress').length === 1);
    service.upstream.outcome = 'succeed';
    await customer.waitForEnd((await customer.createImage('before')).uuid);
    const terminal = createTerminal();
    const url = `${receiver.url}/hooks`;
    receiver.behaviours.set('/hooks', 204);
    const running = terminal.run('webhooks', 'listen', '--forward-to', url, '--interval', '1', '--json');
    await eventually('it is ready', () => terminal.stdout.includes('"ready":true'));
    const { secret } = JSON.parse(terminal.stdout.split('\n')[0] ?? '') as { secret: string };

    await customer.waitForEnd((await customer.createImage('after')).uuid);
    service.upstream.outcome = 'fail';
    await customer.createVideo('failing');
    service.upstream.end('in progress', 'succeeded');
    await eventually('three messages arrived', () => receiver.received.length >= 3, 60_000);
    const events = await Promise.all(
      receiver.received.map(({ body, headers }) => verifyWebhook(body, headers, secret) as Promise<any>),
    );
    expect(events.map(({ type, data }) => `${data.prompt}: ${type}`).toSorted()).to.deep.equal([
      'after: generation.succeeded',
      'failing: generation.failed',
      'in progress: generation.succeeded',
    ]);
    const [event] = events;
    expect((await customer.readGeneration(event.data.uuid)).body).to.deep.equal(event.data);
    expect(event.timestamp).to.equal(event.data.completed_at);
    expect(receiver.received[0]?.id).to.equal(`msg_local_${event.data.uuid}`);

    terminal.interrupt();
    const { status, stdout } = await running;
    expect(status).to.equal(130);
    const results = stdout.trim().split('\n').slice(1);
    expect(results.map((line) => JSON.parse(line).status)).to.deep.equal([204, 204, 204]);
  });

  it('reports a receiver that does not respond, and continues', async () => {
    const terminal = createTerminal();
    const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
    receiver.behaviours.set('/reset', 'reset');
    const options = ['--forward-to', `${receiver.url}/reset`, '--secret', secret, '--interval', '1'];
    const running = terminal.run('webhooks', 'listen', ...options);
    await eventually('it is ready', () => terminal.stdout.includes(`signed with ${secret}`));
    const { uuid } = await customer.createImage();
    await eventually('the failure is shown', () => terminal.stdout.includes(`generation.succeeded  ${uuid}`));
    receiver.behaviours.delete('/reset');
    const next = await customer.createImage();
    await eventually('the next one is shown', () => new RegExp(`${next.uuid}  20\\d`).test(terminal.stdout));
    terminal.interrupt();
    expect((await running).status).to.equal(130);
  });
});
