import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { IMAGE, type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { completeAllGenerations, setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const LIST = '/api/generations/';

const create = (customer: TestCustomer, metadata: unknown, key?: string) =>
  customer.request('POST', '/api/generations/create/', {
    body: { ...IMAGE, prompt: 'a lighthouse', metadata },
    headers: key === undefined ? {} : { 'idempotency-key': key },
  });

const toPairs = (pairs: object) => Object.entries(pairs).map(([key, value]) => ({ key, value }));

describe('metadata of generations', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  before(async () => {
    await setAllModelsOnline(service);
    customer = await service.createCustomer('studio');
  });
  afterEach(() => completeAllGenerations(service, customer));

  const listUuids = async (query: string, by = customer): Promise<string[]> => {
    const { status, body } = await by.request('GET', `${LIST}?${query}`);
    expect(status, query).to.equal(200);
    expect(body.pagination.total_items, query).to.equal(body.data.length);
    return body.data.map(({ uuid }: { uuid: string }) => uuid);
  };

  it('is returned by the create, the read and the lists as it was sent', async () => {
    const metadata = { project: 'lighthouse', 'länge [cm]': '12 "quoted" \\ 😀', empty: '', __proto__x: '1' };
    const { status, body } = await create(customer, metadata);
    expect([status, body.metadata]).to.deep.equal([201, metadata]);
    expect((await customer.readGeneration(body.uuid)).body).to.deep.equal(body);
    for (const query of ['', '?status=queued', `?${new URLSearchParams({ 'metadata[project]': 'lighthouse' })}`]) {
      const [first] = (await customer.request('GET', `${LIST}${query}`)).body.data;
      expect(first, query).to.deep.equal(body);
    }
  });

  it('is absent without metadata, and for an empty object', async () => {
    const { body } = await create(customer, {});
    const plain = await customer.createImage();
    for (const generation of [body, plain]) {
      expect(generation).to.not.have.property('metadata');
      expect((await customer.readGeneration(generation.uuid)).body).to.not.have.property('metadata');
    }
  });

  it('may have 16 pairs with keys of 40 and values of 500 characters, counted in Unicode characters', async () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`${'😀'.repeat(38)}${10 + index}`, '😀'.repeat(500)]),
    );
    const { status, body } = await create(customer, metadata);
    expect([status, body.metadata]).to.deep.equal([201, metadata]);
  });

  const INVALID: [metadata: unknown, detail: string][] = [
    ['text', 'metadata must be an object.'],
    [null, 'metadata must be an object.'],
    [['a'], 'metadata must be an object.'],
    [{ a: 1 }, 'metadata[a] must be one string of at most 500 characters'],
    [{ a: null }, 'metadata[a] must be one string'],
    [{ a: { b: 'c' } }, 'metadata[a] must be one string'],
    [{ a: 'x'.repeat(501) }, 'metadata[a] must be one string of at most 500 characters'],
    [{ a: 'a\u0000b' }, 'metadata[a] must be one string'],
    [
      { a: 'a\ufffdb' },
      'metadata[a] must be one string of at most 500 characters of Unicode text without NUL or replacement characters (U+FFFD).',
    ],
    [{ 'a\ufffd': 'a' }, 'metadata must have keys'],
    [{ '': 'a' }, 'metadata must have keys of 1 to 40 characters'],
    [{ ['k'.repeat(41)]: 'a' }, 'metadata must have keys of 1 to 40 characters'],
    [{ 'a\u0000': 'a' }, 'metadata must have keys'],
    [
      Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])),
      'metadata must have at most 16 pairs.',
    ],
  ];
  for (const [metadata, detail] of INVALID) {
    it(`returns 400 for ${JSON.stringify(metadata).slice(0, 40)} and charges nothing`, async () => {
      const balance = await customer.balance();
      expectError(await create(customer, metadata), 'validation_error', detail);
      expect(await customer.balance()).to.equal(balance);
    });
  }

  it('is part of what an Idempotency-Key identifies, in any order of the pairs', async () => {
    const key = randomUUID();
    const first = await create(customer, { a: '1', b: '2' }, key);
    const again = await create(customer, { b: '2', a: '1' }, key);
    expect([again.status, again.body]).to.deep.equal([201, first.body]);
    for (const other of [{ a: '1', b: '3' }, { a: '1' }, {}, { a: '1', b: '2', c: '3' }])
      expectError(await create(customer, other, key), 'validation_error', 'Idempotency-Key');
  });

  describe('as a filter of the list', () => {
    let owner: TestCustomer;
    const uuids: Record<string, string> = {};
    before(async () => {
      owner = await service.createCustomer('studio');
      for (const [name, metadata] of Object.entries({
        a1: { a: '1' },
        a1b2: { a: '1', b: '2' },
        a1b2c3: { a: '1', b: '2', c: '3' },
        a2: { a: '2' },
        odd: { 'x[y] &=': 'a&b=c"' },
        none: {},
      }))
        uuids[name] = (await create(owner, metadata)).body.uuid;
      // Another account with the same pairs.
      await create(customer, { a: '1', b: '2' });
    });
    after(() => completeAllGenerations(service, owner));

    const find = async (pairs: Record<string, string>, more: Record<string, string> = {}): Promise<string[]> => {
      const query = Object.entries(pairs).map(([key, value]) => [`metadata[${key}]`, value]);
      const found = await listUuids(
        new URLSearchParams([...query, ...Object.entries(more)] as string[][]).toString(),
        owner,
      );
      return found.map((uuid) => Object.entries(uuids).find(([, one]) => one === uuid)?.[0] ?? uuid);
    };

    it('returns the generations of the account that have all pairs, newest first', async () => {
      expect(await find({ a: '1' })).to.deep.equal(['a1b2c3', 'a1b2', 'a1']);
      expect(await find({ b: '2', a: '1' })).to.deep.equal(['a1b2c3', 'a1b2']);
      expect(await find({ a: '1', b: '2', c: '3' })).to.deep.equal(['a1b2c3']);
      expect(await find({ 'x[y] &=': 'a&b=c"' })).to.deep.equal(['odd']);
      expect(await find({ a: '3' })).to.deep.equal([]);
      expect(await find({ d: '' })).to.deep.equal([]);
    });

    it('is an argument of list_library over MCP', async () => {
      const headers = await openMcpSession(owner);
      const list = async (metadata: unknown) => {
        const call = buildToolCall('list_library', { metadata, status: 'queued' });
        const { data, detail } = (await postMcp(owner, call, { headers })).body.result.structuredContent;
        return data?.map(({ uuid }: { uuid: string }) => uuid) ?? detail;
      };
      expect(await list(toPairs({ b: '2', a: '1' }))).to.deep.equal([uuids['a1b2c3'], uuids['a1b2']]);
      expect(await list(toPairs({ 'x[y] &=': 'a&b=c"' }))).to.deep.equal([uuids['odd']]);
      expect(await list(toPairs({ a: '3' }))).to.deep.equal([]);
      expect(await list([])).to.have.length(6);
      expect(await list(toPairs({ a: '', b: '', c: '', d: '' }))).to.match(/at most 3 keys/);
      expect(await list([...toPairs({ a: '1' }), ...toPairs({ a: '2' })])).to.match(
        /^metadata\[a\] must be one string/,
      );
      expect(await list([{ key: 'a', value: 1 }])).to.match(/^metadata\.0\.value/);
      expect(await list({ a: '1' })).to.match(/^metadata must be an array/);
      expect(await list('a')).to.match(/^metadata/);
    });

    it('combines with the other filters', async () => {
      expect(await find({ a: '1' }, { status: 'queued', kind: 'image', model: 'imgmodel-2' })).to.have.length(3);
      expect(await find({ a: '1' }, { status: 'succeeded' })).to.deep.equal([]);
      expect(await find({ a: '1' }, { kind: 'video' })).to.deep.equal([]);
      expect(await find({ a: '1' }, { created_before: '2020-01-01' })).to.deep.equal([]);
      expect(await find({ a: '1' }, { created_after: '2020-01-01' })).to.have.length(3);
    });

    it('leaves out a deleted generation', async () => {
      const { uuid } = (await create(owner, { deleted: 'yes' })).body;
      expect(await find({ deleted: 'yes' })).to.deep.equal([uuid]);
      await owner.request('DELETE', `${LIST}${uuid}/`);
      expect(await find({ deleted: 'yes' })).to.deep.equal([]);
    });

    it('is kept by the links to other pages', async () => {
      const seller = await service.createCustomer('studio');
      for (let made = 0; made < 21; made += 7) {
        await Promise.all(Array.from({ length: 7 }, () => create(seller, { 'a b': 'ü&' })));
        await completeAllGenerations(service, seller);
      }
      const query = new URLSearchParams({ 'metadata[a b]': 'ü&' }).toString();
      const first = (await seller.request('GET', `${LIST}?${query}`)).body;
      expect(first.pagination).to.include({ total_items: 21, next: `${service.baseUrl}${LIST}?${query}&page=2` });
      expect((await seller.request('GET', first.pagination.next)).body.data).to.have.length(1);
    });

    for (const [query, detail] of [
      ['metadata[a]=1&metadata[b]=2&metadata[c]=3&metadata[d]=4', 'metadata can be given for at most 3 keys.'],
      ['metadata[a]=1&metadata[a]=2', 'metadata[a] must be one string'],
      ['metadata[]=1', 'metadata must have keys of 1 to 40 characters'],
      [`metadata[a]=${'x'.repeat(501)}`, 'metadata[a] must be one string of at most 500 characters'],
      ['metadata[a]=%00', 'metadata[a] must be one string'],
      ['metadata[a]=%FF', 'metadata[a] must be one string'],
    ] as const) {
      it(`returns 400 for ?${query.slice(0, 40)}`, async () => {
        expectError(await owner.request('GET', `${LIST}?${query}`), 'validation_error', detail);
      });
    }

    it('uses the index of metadata, and reads no rows of other accounts', async () => {
      const [{ id }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [owner.email]);
      const client = await service.database.connect();
      await client.query('BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off');
      const { rows } = await client.query(
        `EXPLAIN (ANALYZE, FORMAT JSON)
         SELECT number FROM generations
          WHERE jsonb_set('{}', ARRAY[account_id::text], metadata) @> cast($1 AS jsonb) AND metadata IS NOT NULL`,
        [JSON.stringify({ [id]: { a: '1' } })],
      );
      await client.query('ROLLBACK');
      client.release();
      const plan = JSON.stringify(rows[0]['QUERY PLAN']);
      // Partitions have indexes of their own names.
      expect(plan).to.match(/"Index Name":\s*"generations_(metadata_idx|p\d+_jsonb_set_idx)"/);
      expect(plan).to.match(/"Bitmap Index Scan"[^}]*"Actual Rows":\s*3\b/);
    });
  });
});
