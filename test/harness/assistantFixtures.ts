import type { Browser } from 'playwright-core';
import type { TestCustomer } from './apiClient.ts';
import { type Assistants, type AssistantSet, installAssistants } from './assistants.ts';
import { ExecutableDocument } from './executableDocument.ts';
import { launchBrowser } from './realBrowser.ts';
import { startTestService, type TestService } from './testService.ts';

/** Installed programs, and a service with a customer whose address and key the guide contains. */
export interface AssistantFixture {
  assistants: Assistants;
  service: TestService;
  customer: TestCustomer;
  guide: ExecutableDocument;
}

/** Registers hooks of a suite that runs a set of programs as `docs/assistants.md` describes. */
export function provideAssistants(set: AssistantSet): AssistantFixture {
  const fixture = {} as AssistantFixture;
  before(async function () {
    this.timeout(300_000);
    fixture.assistants = await installAssistants(this, set);
    // Nothing of the makers of the programs can be reached, so clients register.
    fixture.service = await startTestService({ env: { OAUTH_CLIENT_METADATA_DOCUMENTS: 'off' } });
    fixture.customer = await fixture.service.createCustomer('studio');
    fixture.guide = openDocument('docs/assistants.md', fixture);
  });
  after(async () => {
    await fixture.assistants?.close();
    await fixture.service?.stop();
  });
  return fixture;
}

/** Opens a page of the documentation for the customer of a fixture. */
export function openDocument(path: string, { service, customer }: AssistantFixture): ExecutableDocument {
  return new ExecutableDocument(path, { baseUrl: service.baseUrl, key: customer.key });
}

/** A browser, and programs without stored settings. */
export interface SignInFixture {
  browser: Browser;
  signedOut: Assistants;
}

/** Registers hooks of a suite whose programs sign in through the browser. */
export function provideSignIn(fixture: AssistantFixture): SignInFixture {
  const signIn = {} as SignInFixture;
  before(async function () {
    signIn.browser = await launchBrowser(this);
    signIn.signedOut = fixture.assistants.withoutSettings();
  });
  after(async () => {
    await signIn.browser?.close();
    await signIn.signedOut?.close();
  });
  return signIn;
}
