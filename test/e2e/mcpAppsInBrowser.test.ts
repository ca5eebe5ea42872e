import { expect } from 'chai';
import type { Browser, Frame, Page } from 'playwright-core';
import sharp from 'sharp';
import type { TestCustomer } from '../harness/apiClient.ts';
import { type ChatHost, findToolCalls, IMAGE_CALL, isRead, startChatHost, VIDEO_CALL } from '../harness/chatHost.ts';
import { launchBrowser } from '../harness/realBrowser.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

describe('the view of a generation in a chat, in a real browser', function () {
  this.timeout(120_000);
  let browser: Browser;
  let host: ChatHost;
  let service: TestService;
  let customer: TestCustomer;
  let page: Page;
  let posted: string[];

  before(async function () {
    browser = await launchBrowser(this);
    host = await startChatHost(this);
    service = await startTestService({ env: { MCP_ALLOWED_ORIGINS: host.origin } });
    const image = { create: { width: 640, height: 360, channels: 3, background: '#3b6ea5' } } as const;
    service.upstream.picture = await sharp(image).png().toBuffer();
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await browser?.close();
    host?.close();
    await service?.stop();
  });
  beforeEach(async () => {
    service.upstream.outcome = 'succeed';
    posted = [];
    page = await (await browser.newContext({ viewport: { width: 560, height: 720 } })).newPage();
    page.setDefaultTimeout(30_000);
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/mcp')) posted.push(request.postData() ?? '');
    });
    await page.goto(host.origin);
    const settings = { url: `${service.baseUrl}/mcp`, key: customer.key, sandbox: host.sandboxUrl, mode: 'legacy' };
    await page.evaluate((options) => (window as any).connect(options), settings);
  });
  afterEach(() => page.context().close());

  const callTool = (name: string, args: object): Promise<any> =>
    page.evaluate(([tool, input]) => (window as any).callTool(tool, input), [name, args] as const);
  const showResult = (name: string, args: object, result?: unknown, options: object = {}): Promise<any> =>
    page.evaluate(([tool, input, shown, more]) => (window as any).showResult(tool, input, shown, more), [
      name,
      args,
      result,
      options,
    ] as const);
  /** The document of the view, in the frame within the sandbox. */
  const view = (): Frame => page.frames().at(-1) as Frame;
  const asked = (): Promise<any[]> => page.evaluate(() => (window as any).asked);
  const background = () => view().evaluate(() => getComputedStyle(document.body).backgroundColor);
  const headline = (text: string) => view().getByText(text, { exact: true }).waitFor();
  const text = async (): Promise<string> => (await view().locator('main').innerText()).replaceAll(/\s+/g, ' ');

  it('shows the progress of an image, then the image with its price, and reports the end to the model', async () => {
    service.upstream.outcome = 'wait';
    const created = await callTool('generate_image', IMAGE_CALL);
    const { app } = await showResult('generate_image', IMAGE_CALL, created);
    expect(app.name).to.equal('genmeter-generation');
    await headline('Image in progress');
    expect(await view().getByRole('progressbar').isVisible()).to.equal(true);
    expect(await text())
      .to.include('8 credits charged')
      .and.include(IMAGE_CALL.prompt);
    service.upstream.end(IMAGE_CALL.prompt, 'succeeded');
    await headline('Image ready');
    const picture = view().getByRole('img', { name: IMAGE_CALL.prompt });
    await eventually('the image is loaded', () => picture.evaluate((node: any) => node.naturalWidth === 640));
    expect(await view().getByRole('progressbar').isVisible()).to.equal(false);
    const [report] = await asked();
    expect(report.method).to.equal('updateModelContext');
    expect(report.params.content[0].text).to.include(created.structuredContent.uuid).and.include('/media/');
    // The frame is as high as the view.
    const height = await view().evaluate(() => document.documentElement.scrollHeight);
    await eventually('the frame has the height of the view', async () => {
      const box = await page.locator('iframe').boundingBox();
      return Math.abs((box?.height ?? 0) - height) <= 3;
    });
  });

  it('asks the assistant for a video, and creates none itself', async () => {
    const created = await callTool('generate_image', IMAGE_CALL);
    const { uuid } = created.structuredContent;
    const balance = await customer.balance();
    await showResult('generate_image', IMAGE_CALL, created);
    await headline('Image ready');
    await view().getByRole('button', { name: 'Make it a video' }).click();
    await headline('Sent to the assistant.');
    const message = (await asked()).find(({ method }) => method === 'message');
    expect(message.params.role).to.equal('user');
    expect(message.params.content[0].text)
      .to.include(uuid)
      .and.match(/how many credits it costs/);
    expect(await view().getByRole('button', { name: 'Make it a video' }).isDisabled()).to.equal(true);
    expect([...new Set(findToolCalls(posted))]).to.have.members(['generate_image', 'get_generation']);
    expect(findToolCalls(posted).filter((name) => name.startsWith('generate'))).to.have.length(1);
    expect(await customer.balance()).to.equal(balance);
  });

  it('downloads by the client, else in the browser of the user, else by an address to copy', async () => {
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    const result = await callTool('get_generation', { uuid });
    const { output_url: url } = result.structuredContent;
    const download = async (capabilities: object) => {
      await page.evaluate(() => ((window as any).asked.length = 0));
      await showResult('get_generation', { uuid }, result, { capabilities: { serverTools: {}, ...capabilities } });
      await view().getByRole('button', { name: 'Download' }).click();
    };
    await download({ downloadFile: {}, openLinks: {} });
    await eventually('the client is asked', async () => (await asked()).length > 0);
    const [{ method, params }] = await asked();
    expect([method, params.contents]).to.deep.equal([
      'downloadFile',
      [{ type: 'resource_link', uri: url, name: `image-${uuid}.png`, mimeType: 'image/png' }],
    ]);
    await page.evaluate(() => ((window as any).rejectsDownloads = true));
    await download({ downloadFile: {}, openLinks: {} });
    await eventually('the link is opened', async () => (await asked()).length > 1);
    expect((await asked())[1]).to.deep.equal({ method: 'openLink', params: { url } });
    await download({});
    await view().getByText(`Open this address in a browser: ${url}`).waitFor();
    expect(await asked()).to.deep.equal([]);
  });

  it('shows the reason of a failure and the refund', async () => {
    service.upstream.outcome = 'fail';
    const created = await callTool('generate_video', VIDEO_CALL);
    await showResult('generate_video', VIDEO_CALL, created);
    await headline('Video failed');
    const { error_message: reason } = (await customer.readGeneration(created.structuredContent.uuid)).body;
    expect(await text())
      .to.include(reason)
      .and.include('35 credits refunded');
    expect(await view().getByRole('button').count()).to.equal(0);
  });

  it('shows that a generation was deleted, while it is in progress and after it was shown', async () => {
    service.upstream.outcome = 'wait';
    const pending = await callTool('generate_image', { ...IMAGE_CALL, prompt: 'deleted in progress' });
    await showResult('generate_image', IMAGE_CALL, pending);
    await headline('Image in progress');
    await customer.request('DELETE', `/api/generations/${pending.structuredContent.uuid}/`);
    await headline('Not in the library');
    service.upstream.end('deleted in progress', 'succeeded');

    service.upstream.outcome = 'succeed';
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    const stored = await callTool('get_generation', { uuid });
    await customer.request('DELETE', `/api/generations/${uuid}/`);
    const { output_url: url } = stored.structuredContent;
    await eventually('the file is deleted', async () => (await fetch(url)).status === 404);
    await showResult('get_generation', { uuid }, stored);
    await headline('Not in the library');
    expect(await view().getByRole('img').count()).to.equal(0);
  });

  it('shows a video with its controls, and says so when the browser cannot play the file', async () => {
    const { uuid } = await customer.createVideo();
    await customer.waitForEnd(uuid);
    await showResult('get_generation', { uuid }, await callTool('get_generation', { uuid }));
    await headline('Video ready');
    // The file of the test is only the beginning of an MP4.
    await view()
      .getByText(/Download the video to see it\.$/)
      .waitFor();
    expect(await text())
      .to.include('35 credits')
      .and.include('5 s');
    expect(await view().getByRole('button', { name: 'Download' }).isVisible()).to.equal(true);
    expect(await view().getByRole('button', { name: 'Make it a video' }).isVisible()).to.equal(false);
  });

  it('shows the thumbnail of the result when the client blocks the file', async () => {
    const { uuid, prompt } = await customer.createImage();
    await customer.waitForEnd(uuid);
    const result = await callTool('get_generation', { uuid });
    await page.route('**/media/**', (route) => route.abort());
    await showResult('get_generation', { uuid }, result);
    await view().getByText('This is a small preview. Download the image to see it.').waitFor();
    const picture = view().getByRole('img', { name: prompt });
    expect(await picture.getAttribute('src')).to.match(/^data:image\/webp;base64,/);
    await eventually('the thumbnail is loaded', () => picture.evaluate((node: any) => node.naturalWidth > 0));
    expect(await view().getByRole('button', { name: 'Download' }).isVisible()).to.equal(true);
  });

  it('shows estimates and errors of the generate tools', async () => {
    await showResult('generate_video', VIDEO_CALL, await callTool('generate_video', { ...VIDEO_CALL, dry_run: true }));
    await headline('Costs 35 credits');
    expect(await text()).to.include('Nothing was created or charged.');
    const rejected = await callTool('generate_image', { ...IMAGE_CALL, resolution: '8K' });
    await showResult('generate_image', IMAGE_CALL, rejected);
    await headline('The request failed');
    expect(await text()).to.include(rejected.structuredContent.detail);
  });

  it('shows texts of prompts and errors as texts, whatever markup they contain', async () => {
    const markup = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
    const created = await callTool('generate_image', { ...IMAGE_CALL, prompt: markup });
    await customer.waitForEnd(created.structuredContent.uuid);
    const args = { uuid: created.structuredContent.uuid };
    await showResult('get_generation', args, await callTool('get_generation', args));
    await headline('Image ready');
    expect(await text()).to.include(markup);
    const failed = { isError: true, content: [], structuredContent: { error: 'validation_error', detail: markup } };
    await showResult('generate_image', { ...IMAGE_CALL, prompt: markup }, failed);
    await headline('The request failed');
    expect(await text()).to.include(markup);
    expect(await view().locator('main script, main [onerror]').count()).to.equal(0);
    expect(await view().title()).to.not.equal('1');
  });

  it('loads nothing from other origins than that of the outputs', async () => {
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    await showResult('get_generation', { uuid }, await callTool('get_generation', { uuid }));
    await headline('Image ready');
    const outside = host.origin;
    const blocked = await view().evaluate(
      async ([other, own]) => {
        const directives: string[] = [];
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) =>
          directives.push(effectiveDirective),
        );
        const results: unknown[] = [];
        for (const [tag, path] of [
          ['img', 'picture.png'],
          ['script', 'bundle.js'],
        ] as const) {
          const element = document.body.appendChild(document.createElement(tag));
          const ended = new Promise((resolve) => {
            element.addEventListener('load', () => resolve('loaded'));
            element.addEventListener('error', () => resolve('blocked'));
          });
          element.src = `${other}/${path}`;
          results.push(await ended);
        }
        results.push(
          await fetch(`${other}/`, { mode: 'no-cors' }).then(String, () => 'blocked'),
          await fetch(`${own}/api/health/`).then(String, () => 'blocked'),
        );
        // The reports of the last requests arrive after their rejection.
        for (let left = 40; directives.length < results.length && left > 0; left -= 1)
          await new Promise((resolve) => setTimeout(resolve, 50));
        return { results, directives: directives.toSorted() };
      },
      [outside, service.baseUrl] as const,
    );
    expect(blocked.results).to.deep.equal(['blocked', 'blocked', 'blocked', 'blocked']);
    expect(blocked.directives).to.deep.equal(['connect-src', 'connect-src', 'img-src', 'script-src-elem']);
  });

  it('follows the theme and the colors of the client', async () => {
    const { uuid } = await customer.createImage();
    await customer.waitForEnd(uuid);
    const variables = { '--color-background-primary': 'light-dark(rgb(1, 2, 3), rgb(4, 5, 6))' };
    await showResult('get_generation', { uuid }, await callTool('get_generation', { uuid }), { styles: { variables } });
    await headline('Image ready');
    expect(await background()).to.equal('rgb(1, 2, 3)');
    await page.evaluate(() => (window as any).setTheme('dark'));
    await eventually('the theme is dark', async () => (await background()) === 'rgb(4, 5, 6)');
  });

  it('offers another check when the client does not pass on its calls', async () => {
    const created = await callTool('generate_image', IMAGE_CALL);
    await page.route('**/mcp', (route) => (isRead(route) ? route.abort() : route.continue()));
    await showResult('generate_image', IMAGE_CALL, created, { capabilities: {} });
    await headline('The status cannot be read from here. Ask the assistant for the result.');
    await page.unroute('**/mcp');
    await view().getByRole('button', { name: 'Check again' }).click();
    await headline('Image ready');
  });

  it('stops reading when the client removes it', async () => {
    service.upstream.outcome = 'wait';
    const prompt = 'removed';
    const created = await callTool('generate_image', { ...IMAGE_CALL, prompt });
    await showResult('generate_image', IMAGE_CALL, created);
    await headline('Image in progress');
    await eventually('it reads', () => findToolCalls(posted).includes('get_generation'));
    expect(await page.evaluate(() => (window as any).teardown())).to.deep.equal({});
    service.upstream.end(prompt, 'succeeded');
    await customer.waitForEnd(created.structuredContent.uuid);
    const count = findToolCalls(posted).length;
    await page.waitForTimeout(5_000);
    expect(findToolCalls(posted)).to.have.length(count);
  });
});
