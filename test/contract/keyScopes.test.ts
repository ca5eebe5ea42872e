import { expect } from 'chai';
import { getRequiredAccess } from '../../api/pipeline/route.ts';
import type { RequiredAccess } from '../../shared/domain/accounts/caller.ts';
import { type TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { buildToolCall, openMcpSession, postMcp } from '../harness/mcpClient.ts';
import { createRestrictedKey } from '../harness/restrictedKeys.ts';
import { ALL_ROUTES, buildPath, filterRoutes, isChange, VALID_BODIES } from '../harness/routes.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { useTestService } from '../harness/testService.ts';

const IN_A_YEAR = () => new Date(Date.now() + 365 * 86_400_000);

/** Kinds of keys, with the options that make them, and the access that they have. */
const KEYS: Record<string, { options: object; has: readonly RequiredAccess[] }> = {
  'a key for svc:read': { options: { scopes: ['svc:read'] }, has: ['svc:read'] },
  'a key for svc:write': { options: { scopes: ['svc:write'] }, has: ['svc:write'] },
  'a key for both scopes': { options: { scopes: ['svc:read', 'svc:write'] }, has: ['svc:read', 'svc:write'] },
  'a key with another option': {
    options: { expires_at: IN_A_YEAR() },
    has: ['svc:read', 'svc:write'],
  },
  'a key with a limit': { options: { credit_limit: { credits: 24, period: 'day' } }, has: ['svc:read', 'svc:write'] },
  'a key for the account': { options: { scopes: ['account'] }, has: ['account'] },
  'a key with another option and all scopes': {
    options: { expires_at: IN_A_YEAR(), scopes: ['svc:read', 'svc:write', 'account'] },
    has: ['svc:read', 'svc:write', 'account'],
  },
  'a key without options': { options: {}, has: ['svc:read', 'svc:write', 'account', 'unrestricted'] },
};

const KEY_ROUTES = filterRoutes('key/cookie', 'staff');

const TOOLS: readonly [tool: string, args: object, scope: RequiredAccess][] = [
  ['generate_image', { prompt: 'x', resolution: '1K' }, 'svc:write'],
  ['generate_image', { prompt: 'x', resolution: '1K', dry_run: true }, 'svc:write'],
  ['get_usage', {}, 'svc:read'],
  ['list_library', {}, 'svc:read'],
];

describe('scopes of API keys', () => {
  const service = useTestService({ workers: 0 });
  let owner: TestCustomer;
  const keys = new Map<string, TestCustomer>();
  before(async () => {
    await setAllModelsOnline(service);
    owner = await service.createCustomer('studio');
    // Each kind has an account of its own, for the parallel limit.
    for (const [kind, { options }] of Object.entries(KEYS))
      keys.set(kind, (await createRestrictedKey(service, await service.createCustomer('studio'), options)).customer);
  });

  it('every route that takes an API key names the access that it requires, and no other route does', () => {
    expect(KEY_ROUTES.length).to.be.above(35);
    for (const route of ALL_ROUTES)
      expect(getRequiredAccess(route.served) !== undefined, route.name).to.equal(KEY_ROUTES.includes(route));
  });

  it('creating and changing keys requires a key without options', () => {
    const restricted = KEY_ROUTES.filter(({ served }) => getRequiredAccess(served) === 'unrestricted');
    expect(restricted.map(({ name }) => name)).to.have.members(['POST /api/keys/create/', 'PATCH /api/keys/:uuid/']);
  });

  for (const [kind, { has }] of Object.entries(KEYS)) {
    for (const route of KEY_ROUTES) {
      const { name, method, path, served } = route;
      const isAllowed = has.includes(getRequiredAccess(served) as RequiredAccess);
      it(`${name} ${isAllowed ? 'admits' : 'rejects'} ${kind}`, async () => {
        const body = VALID_BODIES[name] ?? {};
        const response = await (keys.get(kind) as TestCustomer).request(
          method,
          buildPath({ path }),
          isChange(route) ? { body } : {},
        );
        if (!isAllowed) return expectError(response, 'insufficient_scope');
        expect(response.status).to.not.equal(401);
        expect(response.body?.error).to.not.equal('insufficient_scope');
      });
    }

    for (const [tool, args, scope] of TOOLS) {
      const isAllowed = has.includes(scope);
      it(`the tool ${tool} with ${JSON.stringify(args)} ${isAllowed ? 'admits' : 'rejects'} ${kind}`, async () => {
        const customer = keys.get(kind) as TestCustomer;
        const headers = await openMcpSession(customer);
        const response = await postMcp(customer, buildToolCall(tool, args), { headers });
        if (!isAllowed) return expectError(response, 'insufficient_scope');
        expect([response.status, response.body.result.isError]).to.deep.equal([200, undefined]);
      });
    }
  }

  it('the error names the missing scope, the scopes of the key, and where to change it', async () => {
    const { body } = await (keys.get('a key for svc:read') as TestCustomer).createGeneration({
      model: 'imgmodel-2',
      params: { resolution: '1K' },
    });
    expect(body.detail).to.equal(
      `This request requires the scope svc:write, but this API key has only svc:read. Use another API key, or open ${service.baseUrl}/account/keys/ to change this one.`,
    );
  });

  it('a session has all rights, whatever the options of the keys', async () => {
    expect((await owner.requestWithSession('GET', '/api/keys/')).status).to.equal(200);
  });
});
