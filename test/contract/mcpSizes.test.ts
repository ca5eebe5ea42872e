import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildToolCall, openMcpSession, postMcp, STATELESS_META } from '../harness/mcpClient.ts';
import { deleteGenerationsByNumber, seedImages } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const ITEMS = 17;
const DAYS = 30;
/** Most bytes of the list of tools, which clients load in every session. */
const TOOLS_BYTES_MAX = 14_800;
const IDLE_USAGE_BYTES_MAX = 450;
/**
 * Largest share of the REST response that a result may have. Some clients give it to their model in place of the text.
 */
const LIBRARY_SHARE_MAX = 0.5;
const USAGE_SHARE_MAX = 0.4;

const countBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Lists the keywords of a JSON Schema and of the schemas within it. */
function listKeywords(schema: any): string[] {
  const nested = [...Object.values(schema.properties ?? {}), ...(schema.anyOf ?? []), schema.items ?? []].flat();
  return [...Object.keys(schema), ...nested.flatMap(listKeywords)];
}

describe('the size of MCP results', () => {
  const service = useTestService({ workers: 0 });
  let customer: TestCustomer;
  before(async () => {
    customer = await service.createCustomer('studio');
  });

  async function call(tool: string): Promise<any> {
    const headers = await openMcpSession(customer);
    return (await postMcp(customer, buildToolCall(tool), { headers })).body.result.structuredContent;
  }

  async function listTools(): Promise<any> {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: STATELESS_META } };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
    return (await postMcp(customer, message, { headers })).body.result;
  }

  it('tools/list stays below its bound', async () => {
    const result = await listTools();
    expect(result.tools).to.have.length(5);
    expect(countBytes(result)).to.be.at.most(TOOLS_BYTES_MAX);
  });

  it('output schemas name fields and types, and accept values that a cached list does not have', async () => {
    const { tools } = await listTools();
    const keywords = new Set(tools.flatMap(({ outputSchema }: any) => listKeywords(outputSchema)));
    expect([...keywords]).to.have.members(['type', 'required', 'properties', 'additionalProperties', 'items', 'anyOf']);
    expect(tools[2].outputSchema.properties.params).to.deep.equal({ type: 'object' });
  });

  it('input schemas have closed objects only, which the strict modes of models require', async () => {
    const listObjects = (schema: any): any[] => [
      ...(schema.type === 'object' ? [schema] : []),
      ...[...Object.values(schema.properties ?? {}), ...(schema.anyOf ?? []), schema.items ?? []]
        .flat()
        .flatMap(listObjects),
    ];
    const objects = (await listTools()).tools.flatMap(({ inputSchema }: any) => listObjects(inputSchema));
    expect(objects.length).to.be.above(5);
    for (const schema of objects) {
      expect(schema.additionalProperties, JSON.stringify(schema)).to.equal(false);
      expect(schema).to.have.property('properties');
    }
  });

  it('output schemas are one object with the fields of all results and of errors, none of them required', async () => {
    const { tools } = await listTools();
    const fields = tools.map(({ name, outputSchema }: any) => {
      expect(Object.keys(outputSchema), name).to.have.members(['type', 'properties']);
      expect(outputSchema.type).to.equal('object');
      return Object.keys(outputSchema.properties);
    });
    const [image, video, generation, library, usage] = fields;
    for (const names of fields) expect(names).to.include.members(['next', 'error', 'detail']);
    for (const names of [image, video, generation]) expect(names).to.include.members(['uuid', 'status', 'output_url']);
    for (const names of [image, video]) expect(names).to.include.members(['credits', 'balance_after', 'refusal']);
    expect(library).to.include.members(['pagination', 'data']);
    expect(usage).to.include.members(['plan', 'credits', 'jobs']);
  });

  it('get_usage of an account without usage has no days', async () => {
    const usage = await call('get_usage');
    expect(usage.credits_by_day).to.deep.equal({});
    expect(countBytes(usage)).to.be.at.most(IDLE_USAGE_BYTES_MAX);
  });

  it(`list_library with ${ITEMS} items and get_usage with ${DAYS} days are a fraction of the REST responses`, async () => {
    for (let daysAgo = 0; daysAgo < DAYS; daysAgo += 1) await seedImages(service, customer, 1, daysAgo);
    const removed = Array.from({ length: DAYS - ITEMS }, (_, index) => index + 1);
    await deleteGenerationsByNumber(service, customer, removed);
    await service.sql(
      `UPDATE generations SET prompt = repeat('a lighthouse in the fog, ', 10),
                              output_path = left(uuid::text, 2) || '/' || uuid || '/image.png'
        WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [customer.email],
    );
    const usage = await call('get_usage');
    expect(Object.keys(usage.credits_by_day)).to.have.length(DAYS);
    const library = await call('list_library');
    const { body: restUsage } = await customer.request('GET', '/api/usage/summary/');
    const { body: restList } = await customer.request('GET', '/api/generations/');
    expect(countBytes(usage) / countBytes(restUsage)).to.be.at.most(USAGE_SHARE_MAX);
    expect(countBytes(library) / countBytes(restList)).to.be.at.most(LIBRARY_SHARE_MAX);
  });
});
