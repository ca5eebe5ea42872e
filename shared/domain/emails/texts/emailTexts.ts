import type { BrowserName } from '../../../lib/browserName.ts';
import type { EmailKind } from '../../../spec/events.ts';
import type { EmailParams } from '../emailParams.ts';

/** Values as they are written in the language of a message. */
export interface TextFormats {
  /** Name of the service. */
  brand: string;
  /** Formats credits: 1,100. */
  number: (value: number) => string;
  /** Formats US dollars, without cents that are zero: $29, $18.96. */
  usd: (cents: number) => string;
  /** Formats a day in UTC. @param time ISO 8601. */
  date: (time: string) => string;
  /** Formats a time to the minute, in UTC. @param time ISO 8601. */
  dateTime: (time: string) => string;
  /** Name of a plan. */
  plan: (slug: string) => string;
  /** Name of a sign-in provider. */
  provider: (name: string) => string;
  /** Parses the browser and the system of a `User-Agent` header. */
  browser: (userAgent: string) => BrowserName;
  /** Time of the message, in ISO 8601. */
  time: string;
}

/** The text of one message. */
export interface MessageText {
  subject: string;
  paragraphs: string[];
  /** Label of the link to the page that the message is about. */
  action: string;
}

/** All texts of one language. */
export interface EmailTexts {
  greeting(firstName: string): string;
  /** Says why the message was sent, at its end. */
  reason(brand: string): string;
  /** The same for a message about security, which cannot be switched off. */
  securityReason(brand: string): string;
  /** The same for a message to a member about its access to an account. */
  membershipReason(brand: string): string;
  /** The same for an invitation. */
  invitationReason(brand: string): string;
  /** Labels of the links at the end. */
  settings: string;
  unsubscribe: string;
  support: string;
  messages: { [Kind in EmailKind]: (params: EmailParams[Kind], formats: TextFormats) => MessageText };
}
