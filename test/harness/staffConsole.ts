import { randomUUID } from 'node:crypto';
import { STAFF_ROLES, type StaffRole } from '../../shared/spec/staff.ts';
import type { TestCustomer } from './apiClient.ts';
import { createBrowserFor, findForm, type HttpBrowser, type HttpPage } from './httpBrowser.ts';
import { changeOwner } from './people.ts';
import { type TestService, useTestService } from './testService.ts';

/** Reason that the helpers below give for each action. */
export const REASON = 'ticket T-1';

/** One staff account per role, and what staff do in the console. */
export class StaffConsole {
  /** Value for `STAFF_EMAILS`, to start the service with. */
  readonly staffEmails: string;
  readonly #emails: Record<StaffRole, string>;
  readonly #staff = new Map<StaffRole, TestCustomer>();
  readonly #browsers = new Map<StaffRole, HttpBrowser>();
  #service: TestService | undefined;

  constructor() {
    this.#emails = Object.fromEntries(
      STAFF_ROLES.map((role) => [role, `${role}-${randomUUID()}@example.com`]),
    ) as Record<StaffRole, string>;
    this.staffEmails = STAFF_ROLES.map((role) => `${this.#emails[role]}:${role}`).join(',');
  }

  get #baseUrl(): string {
    return (this.#service as TestService).baseUrl;
  }

  /** Creates the staff accounts. */
  async open(service: TestService): Promise<void> {
    this.#service = service;
    for (const role of STAFF_ROLES) {
      const account = await service.createCustomer(null);
      await changeOwner(service, account.email, 'email', this.#emails[role]);
      this.#staff.set(role, account);
    }
  }

  email(role: StaffRole): string {
    return this.#emails[role];
  }

  member(role: StaffRole): TestCustomer {
    return this.#staff.get(role) as TestCustomer;
  }

  /** Returns the browser of a member, which keeps its cookies. */
  #getBrowser(role: StaffRole): HttpBrowser {
    const known = this.#browsers.get(role) ?? createBrowserFor(this.member(role));
    this.#browsers.set(role, known);
    return known;
  }

  /** Opens a page. */
  visit(path: string, role: StaffRole = 'admin'): Promise<HttpPage> {
    return this.#getBrowser(role).request(`${this.#baseUrl}${path}`);
  }

  /** Reads the hidden fields of an action's form. */
  async readForm(action: string, role: StaffRole = 'admin', page = action): Promise<Record<string, string>> {
    return findForm((await this.visit(page, role)).text, action).fields;
  }

  /** Sends a form. @param fields those of `readForm`, and what is typed. */
  send(
    action: string,
    fields: Record<string, string>,
    { role = 'admin', headers = {} }: { role?: StaffRole; headers?: Record<string, string> } = {},
  ): Promise<HttpPage> {
    return this.#getBrowser(role).request(`${this.#baseUrl}${action}`, {
      method: 'POST',
      headers: { origin: this.#baseUrl, 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ reason: REASON, ...fields }).toString(),
    });
  }

  /** Fills in the form of an action and sends it. */
  async act(action: string, typed: Record<string, string> = {}, role: StaffRole = 'admin'): Promise<HttpPage> {
    return this.send(action, { ...(await this.readForm(action, role)), ...typed }, { role });
  }
}

/** Registers hooks of a suite: a service without workers, and its staff. */
export function useStaffService(): { console: StaffConsole; service: TestService } {
  const console = new StaffConsole();
  const service = useTestService({ workers: 0, env: { STAFF_EMAILS: console.staffEmails } });
  before(() => console.open(service));
  return { console, service };
}

/** Finds the uuid of an account. */
export async function findAccountUuid(service: TestService, { email }: { email: string }): Promise<string> {
  return (await service.sql('SELECT uuid FROM accounts WHERE email = $1', [email]))[0].uuid as string;
}

/** Reads the audit entries of an account, oldest first. */
export async function readAudit(service: TestService, { email }: { email: string }): Promise<any[]> {
  return service.sql(
    `SELECT e.* FROM audit_entries e JOIN accounts a ON a.id = e.account_id WHERE a.email = $1 ORDER BY e.uuid`,
    [email],
  );
}
