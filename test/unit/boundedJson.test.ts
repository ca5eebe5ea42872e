import { expect } from 'chai';
import { fetchBounded } from '../../shared/gateways/identity/boundedFetch.ts';
import { requestJson } from '../../shared/gateways/upstreams/http.ts';
import { closeFileServers, startFileServer } from '../fakes/fileServers.ts';
import { expectRejection } from '../harness/expectRejection.ts';
import { setTestConfig } from '../harness/testConfig.ts';

const nest = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const serve = async (text: string) => (await startFileServer((_request, response) => response.end(text))).url;
const PADDING = 'x'.repeat(70_000);

/** Texts of which a parser would make a hundred times their size. */
const COSTLY: [string, string][] = [
  ['half a million levels', nest(500_000)],
  ['300,000 objects', `[${'{},'.repeat(300_000)}{}]`],
  ['33 levels and more than 64 KiB', `["${PADDING}",${nest(32)}]`],
];

const ask = async (text: string) => (await requestJson('GET', await serve(text), { headers: {} })).body;

describe('JSON of other services', () => {
  before(() => setTestConfig());
  afterEach(closeFileServers);

  for (const [name, text] of COSTLY) {
    it(`is not parsed if an upstream sends ${name}`, async () => {
      expect((await ask(text)) === undefined).to.equal(true);
    });

    it(`is not parsed if a sign-in provider sends ${name}`, async () => {
      await expectRejection(fetchBounded(await serve(text), {}), /at most/);
    });
  }

  it('is parsed if it is large, with few levels and values', async () => {
    const text = `["${PADDING}[[[{{,,,\\"${'[,'.repeat(20_000)}",${nest(31)}]`;
    expect(await ask(text)).to.deep.equal(JSON.parse(text));
    expect(await (await fetchBounded(await serve(text), {})).text()).to.equal(text);
  });
});
