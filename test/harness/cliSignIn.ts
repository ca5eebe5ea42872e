import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestCustomer } from './apiClient.ts';
import { type CliResult, TestTerminal } from './cliTerminal.ts';
import { getRedirectLocation, submitConsent } from './oauthClient.ts';
import { setAllModelsOnline } from './seeds.ts';
import { eventually, startTestService, type TestService } from './testService.ts';

/** A `genmeter login` that waits for the browser. */
export interface PendingLogin {
  terminal: TestTerminal;
  result: Promise<CliResult>;
  /** Authorization address that the command has printed. */
  address: URL;
}

/** A customer with the command line in a home folder of their own, and a browser. */
export class CliUser {
  readonly folder = mkdtempSync(join(tmpdir(), 'genmeter-cli-'));
  readonly settings = join(this.folder, 'genmeter');
  readonly file = join(this.settings, 'credentials.json');
  readonly service: TestService;
  readonly customer: TestCustomer;

  constructor(service: TestService, customer: TestCustomer) {
    this.service = service;
    this.customer = customer;
  }

  run(...args: string[]): Promise<CliResult> {
    return this.createTerminal().run(...args);
  }

  createTerminal(): TestTerminal {
    return new TestTerminal({ XDG_CONFIG_HOME: this.folder });
  }

  /** Runs `genmeter login` until it waits for the browser. */
  async startLogin(...args: string[]): Promise<PendingLogin> {
    const terminal = this.createTerminal();
    const result = terminal.run('login', '--url', this.service.baseUrl, ...args);
    await eventually('the address is printed', () => terminal.stderr.includes('/authorize?'));
    return { terminal, result, address: new URL(/^http\S+$/m.exec(terminal.stderr)?.[0] as string) };
  }

  /** Decides on the consent page. @returns the address to which the browser returns. */
  async decide({ address }: PendingLogin, decision = 'allow', fields: Record<string, string> = {}): Promise<URL> {
    const path = address.pathname + address.search;
    return new URL(
      getRedirectLocation(await submitConsent(this.service.baseUrl, this.customer, path, decision, fields)),
    );
  }

  /** Signs in, with these fields of the consent page. */
  async logIn(fields: Record<string, string> = {}): Promise<void> {
    const login = await this.startLogin();
    await fetch(await this.decide(login, 'allow', fields));
    const { status, stderr } = await login.result;
    if (status !== 0) throw new Error(`Not signed in: ${status} ${stderr}`);
  }

  /** The stored credentials. */
  readCredentials(): { url: string; tokens: any; key?: string } {
    return JSON.parse(readFileSync(this.file, 'utf8'));
  }

  changeTokens(change: object): void {
    const stored = this.readCredentials();
    writeFileSync(this.file, JSON.stringify({ ...stored, tokens: { ...stored.tokens, ...change } }));
  }

  listFiles(): string[] {
    return readdirSync(this.settings);
  }

  listActiveGrants(): Promise<any[]> {
    return this.service.sql(
      `SELECT g.client_id, g.resource FROM oauth_grants g JOIN accounts a ON a.id = g.account_id
        WHERE a.email = $1 AND g.revoked_at IS NULL AND g.connected_at IS NOT NULL`,
      [this.customer.email],
    );
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A service, and the user of the present test. */
export interface CliFixture {
  service: TestService;
  user: CliUser;
}

/**
 * Registers hooks for the tests of a suite: one service, and a new user for each test.
 * @param prepare runs with each user before its test.
 */
export function provideCliUser(prepare: (user: CliUser) => Promise<void> = async () => {}): CliFixture {
  const fixture = {} as CliFixture;
  before(async () => {
    fixture.service = await startTestService({ workers: 0 });
    await setAllModelsOnline(fixture.service);
  });
  after(() => fixture.service.stop());
  beforeEach(async () => {
    const { service } = fixture;
    fixture.user = new CliUser(service, await service.createCustomer());
    await prepare(fixture.user);
  });
  afterEach(() => fixture.user.remove());
  return fixture;
}
