import type { AcceptedMessage } from '../fakes/smtpServer.ts';
import { FakeSmtpServer } from '../fakes/smtpServer.ts';
import type { TestCustomer } from './apiClient.ts';
import { type TestService, startTestService } from './testService.ts';
import { dispatchEvents } from './tasks.ts';
import { useService } from './useService.ts';

/** A service without workers that sends e-mail to a fake mail server. */
export class MailService {
  readonly smtp: FakeSmtpServer;
  readonly service: TestService;

  constructor(smtp: FakeSmtpServer, service: TestService) {
    this.smtp = smtp;
    this.service = service;
  }

  /** Creates a customer, to whom no message is due. Faults and messages of earlier tests are removed. */
  async createCustomer(plan: string | null): Promise<TestCustomer> {
    const customer = await this.service.createCustomer(plan);
    await dispatchEvents();
    await this.service.sql('DELETE FROM emails');
    this.smtp.reset();
    return customer;
  }

  /** Returns the messages that a customer has received. */
  listReceived({ email }: TestCustomer): AcceptedMessage[] {
    return this.smtp.findMessages(email);
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.smtp.stop();
  }
}

/** Starts a service with e-mail, and its mail server. */
export async function startMailService(env: Record<string, string> = {}): Promise<MailService> {
  const smtp = await new FakeSmtpServer().start();
  const service = await startTestService({
    workers: 0,
    env: { SMTP_URL: smtp.url, MAIL_FROM: 'no-reply@mail.example.com', ...env },
  });
  return new MailService(smtp, service);
}

/** {@link startMailService} before the tests of the suite, and stops it after them. */
export const useMailService = (env?: Record<string, string>): MailService => useService(() => startMailService(env));
