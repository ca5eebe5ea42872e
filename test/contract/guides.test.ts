import { expect } from 'chai';
import { createVisitor } from '../harness/accountForms.ts';
import { HttpBrowser } from '../harness/httpBrowser.ts';
import { useTestService } from '../harness/testService.ts';

const listPaths = (text: string) => [...text.matchAll(/href="(\/docs\/[a-z-]+\/)/g)].map(([, path]) => path as string);

describe('the guides', () => {
  const service = useTestService({ workers: 0 });

  const get = (path: string) => new HttpBrowser().request(`${service.baseUrl}${path}`);

  it('are listed for everybody, without those of operators', async () => {
    const { status, text } = await get('/docs/');
    expect(status).to.equal(200);
    for (const slug of ['client', 'python', 'webhooks', 'credits', 'assistants'])
      expect(listPaths(text)).to.include(`/docs/${slug}/`);
    expect(text).to.not.include('/docs/deploying/');
  });

  it('have the address of the service, and links that lead somewhere', async () => {
    const pages = new Map<string, string>();
    for (const path of listPaths((await get('/docs/')).text)) pages.set(path, (await get(path)).text);
    expect(pages.size).to.be.above(12);
    for (const [path, text] of pages) {
      expect(text, path).to.match(/<h1>[^<]+<\/h1>/);
      expect(text, path).to.not.match(/http:\/\/localhost:3000|href="[^"]*\.md|<script/);
      for (const [, target = '', fragment = ''] of text.matchAll(/href="(\/docs\/[a-z-]+\/)?(#[^"]+)?"/g)) {
        if (target === '' && fragment === '') continue;
        const linked = target === '' ? text : pages.get(target);
        expect(linked, `${path} links ${target}`).to.be.a('string');
        if (fragment === '' || fragment === '#content') continue;
        expect(linked, `${path} links ${target}${fragment}`).to.include(`id="${fragment.slice(1)}"`);
      }
    }
    expect(pages.get('/docs/webhooks/')).to.include(`curl -X POST ${service.baseUrl}/api/webhooks/create/`);
    expect(pages.get('/docs/python/')).to.include('<span class="hljs-keyword">import</span>');
  });

  it('are linked by the pages whose subject they explain', async () => {
    const { visitor } = await createVisitor(service);
    const guides = { keys: 'api-keys', webhooks: 'webhooks', applications: 'assistants' };
    for (const [page, slug] of Object.entries(guides)) {
      const { text } = await visitor.request(`${service.baseUrl}/account/${page}/`);
      expect(listPaths(text), page).to.include(`/docs/${slug}/`);
      expect((await get(`/docs/${slug}/`)).status, slug).to.equal(200);
    }
  });

  it('are searched by all words', async () => {
    const { text } = await get('/docs/?q=webhook%20signature');
    expect(text).to.include('/docs/webhooks/#');
    expect((await get('/docs/?q=xyzzy')).text).to.include('No guide contains these words.');
    expect((await get('/docs/?q=%3Cscript%3E')).text).to.not.include('<script>');
  });

  it('answer 404 for other names', async () => {
    for (const path of ['/docs/deploying/', '/docs/README/', '/docs/..%2Fpackage/'])
      expect((await get(path)).status, path).to.equal(404);
  });
});
