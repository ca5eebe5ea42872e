import { expect } from 'chai';
import { disconnectApplication } from '../../shared/domain/oauth/grants.ts';
import { type ApiResponse, IMAGE, TestCustomer } from '../harness/apiClient.ts';
import { countOccurrences, expectError } from '../harness/errorEnvelope.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import {
  ACCEPT_JSON_OR_SSE,
  buildStatelessCallHeaders,
  buildToolCall,
  openMcpSession,
  postMcp,
  STATELESS_META,
} from '../harness/mcpClient.ts';
import { type OAuthTestClient, postUrlEncoded, registerClient } from '../harness/oauthClient.ts';
import { getAccountId } from '../harness/outbox.ts';
import { sendRequestHead } from '../harness/rawRequest.ts';
import { scaleTimeout } from '../harness/scaleTimeout.ts';
import { setAllModelsOnline } from '../harness/seeds.ts';
import { eventually, useTestService } from '../harness/testService.ts';

/** Records each generation that is created while the grants of its application are revoked. Gives them time to be. */
const RECORD_LATE_CHARGES_SQL = `
  CREATE TABLE late_charges (uuid uuid);
  CREATE FUNCTION record_late_charges() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_sleep(0.02);
    IF NOT EXISTS (SELECT FROM oauth_grants WHERE client_id = NEW.oauth_client_id AND revoked_at IS NULL) THEN
      INSERT INTO late_charges VALUES (NEW.uuid);
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER record_late_charges AFTER INSERT ON generations FOR EACH ROW
    WHEN (NEW.oauth_client_id IS NOT NULL) EXECUTE FUNCTION record_late_charges()`;

/** A customer and an application with an access token. */
interface Connection {
  customer: TestCustomer;
  /** The customer with the access token in place of the key. */
  program: TestCustomer;
  client: OAuthTestClient;
  disconnect: () => Promise<void>;
}

/** Sends a call to /mcp whose body is complete only after the application was disconnected. */
async function sendAcrossDisconnect(
  { program, disconnect }: Connection,
  call: object,
  headers: Record<string, string>,
): Promise<string> {
  const text = JSON.stringify(call);
  const unfinished = await sendRequestHead(program.baseUrl, 'POST', '/mcp', {
    accept: ACCEPT_JSON_OR_SSE,
    authorization: `Bearer ${program.key}`,
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  });
  await disconnect();
  unfinished.end(text);
  return unfinished.reply;
}

describe('an application that is disconnected while its request runs', () => {
  const service = useTestService({ workers: 0 });
  let there: string;
  before(async () => {
    // A second process of the same authorization server.
    there = (await service.startApi({ BASE_URL: service.baseUrl })).baseUrl;
    await setAllModelsOnline(service);
    await service.sql(RECORD_LATE_CHARGES_SQL);
    for (const name of ['slots-within-the-limit', 'entitlement-matches-subscription']) service.fabricated.add(name);
  });
  afterEach(async () => {
    expect(await service.sql('SELECT * FROM late_charges')).to.deep.equal([]);
    await service.checkIntegrity();
  });

  async function connect(resource = `${service.baseUrl}/api/`): Promise<Connection> {
    const customer = await service.createCustomer('studio');
    await service.sql('UPDATE accounts SET parallel_limit = 1000 WHERE email = $1', [customer.email]);
    const client = await registerClient(service.baseUrl);
    const tokens = await client.authorizeAndExchange(customer, { resource });
    const program = new TestCustomer(service.baseUrl, customer.email, customer.cookie, tokens.access_token);
    const disconnect = async () => {
      const fields = { token: tokens.refresh_token, client_id: client.clientId };
      expect((await postUrlEncoded(service.baseUrl, '/revoke', fields)).status).to.equal(200);
    };
    return { customer, program, client, disconnect };
  }

  /** Disconnects the application as its owner does. */
  async function endGrants({ customer, client }: Connection): Promise<void> {
    const accountId = await getAccountId(service, customer);
    const [{ uuid }] = await service.sql('SELECT uuid FROM oauth_grants WHERE client_id = $1', [client.clientId]);
    expect(await disconnectApplication(accountId, uuid)).to.equal(true);
  }

  const countGenerations = async ({ email }: TestCustomer): Promise<number> =>
    (
      await service.sql(
        `SELECT cast(count(*) AS int) AS n FROM generations g JOIN accounts a ON a.id = g.account_id
          WHERE a.email = $1`,
        [email],
      )
    )[0].n;

  /** Expects the rejection of a revoked token. */
  function expectDisconnected(reply: string): void {
    expect(reply).to.match(/^HTTP\/1\.1 401 /);
    expect(reply).to.include(
      `Bearer resource_metadata="${service.baseUrl}/.well-known/oauth-protected-resource", error="invalid_token", scope="svc:read svc:write"`,
    );
    expect(reply).to.include(
      '{"error":"invalid_api_key","detail":"The application was disconnected from the account: connect it again."}',
    );
  }

  for (const mode of ['with a session', 'stateless'] as const) {
    it(`gets the 401 of /mcp for a tool call whose body it held back (${mode})`, async () => {
      const connection = await connect(`${service.baseUrl}/mcp`);
      const { program, customer } = connection;
      const isStateless = mode === 'stateless';
      const headers = isStateless ? buildStatelessCallHeaders('generate_image') : await openMcpSession(program);
      const call = buildToolCall(
        'generate_image',
        { prompt: 'a lighthouse', resolution: '1K' },
        1,
        isStateless ? STATELESS_META : undefined,
      );
      expectDisconnected(await sendAcrossDisconnect(connection, call, headers));
      expect(await countGenerations(customer)).to.equal(0);
    });
  }

  for (const tool of ['list_library', 'get_usage']) {
    it(`gets it for a call of ${tool} whose body it held back`, async () => {
      const connection = await connect(`${service.baseUrl}/mcp`);
      const call = buildToolCall(tool, {}, 1, STATELESS_META);
      expectDisconnected(await sendAcrossDisconnect(connection, call, buildStatelessCallHeaders(tool)));
    });
  }

  it('ends a read with wait by 401 within a round, over REST and /mcp', async () => {
    const [rest, assistant] = [await connect(), await connect(`${service.baseUrl}/mcp`)];
    const { uuid } = await rest.program.createImage();
    const { uuid: other } = await assistant.customer.createImage();
    const call = buildToolCall('get_generation', { uuid: other, wait_seconds: 40 });
    const headers = await openMcpSession(assistant.program);
    const responses = [
      rest.program.request('GET', `/api/generations/${uuid}/?wait=40`),
      postMcp(assistant.program, call, { headers }),
    ];
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const disconnectedAt = performance.now();
    await Promise.all([rest.disconnect(), assistant.disconnect()]);
    for (const response of await Promise.all(responses)) {
      expectError(response, 'invalid_api_key', 'disconnected');
      expect(response.headers.get('www-authenticate')).to.include('error="invalid_token"');
    }
    expect(performance.now() - disconnectedAt).to.be.below(scaleTimeout(4_700));
  });

  it('creates nothing after the disconnection is committed, however many creates are running', async function () {
    this.timeout(120_000);
    for (let round = 0; round < 4; round += 1) {
      const connection = await connect();
      const { customer, program } = connection;
      const runClient = async (index: number): Promise<ApiResponse[]> => {
        const client = program.on(index % 2 === 0 ? service.baseUrl : there);
        const responses: ApiResponse[] = [];
        do responses.push(await client.createGeneration(IMAGE));
        while (responses.at(-1)?.status === 201);
        return responses;
      };
      const clients = Array.from({ length: 32 }, (_, index) => runClient(index));
      await eventually('creates are accepted', async () => (await countGenerations(customer)) > 10);
      await endGrants(connection);
      const atCommit = await countGenerations(customer);
      const responses = (await Promise.all(clients)).flat();
      const outcomes = countOccurrences(responses.map(({ status, body }) => body.error ?? status));
      expect(outcomes).to.deep.equal({ 201: atCommit, invalid_api_key: 32 });
      expect(await countGenerations(customer)).to.equal(atCommit);
      expect(await customer.balance()).to.equal(3_000 - 8 * atCommit);
    }
  });

  it('leaves the requests of other callers in the same batch as they are', async () => {
    const [ended, kept] = [await connect(), await connect()];
    const { customer: byKey } = await connect();
    const { customer } = await connect();
    const bySession = () =>
      customer.requestWithSession('POST', '/api/generations/create/', { body: { ...IMAGE, prompt: 'a' } });
    await endGrants(ended);
    let responses: Promise<ApiResponse>[] = [];
    // The batch waits for this account, and contains all that arrive before it runs.
    await whileAccountIsLocked(service, await getAccountId(service, kept.customer), async () => {
      responses = [kept.program.createGeneration(IMAGE), byKey.createGeneration(IMAGE), bySession()];
      await waitForLockWaits(service);
    });
    expect((await Promise.all(responses)).map(({ status }) => status)).to.deep.equal([201, 201, 201]);
    const { uuid } = (await kept.program.createGeneration(IMAGE)).body;
    const reads = await Promise.all([
      kept.program.readGeneration(uuid),
      byKey.readGeneration(uuid),
      kept.customer.readGeneration(uuid),
      ended.program.readGeneration(uuid),
    ]);
    expect(reads.map(({ status }) => status)).to.deep.equal([200, 404, 200, 401]);
  });
});
