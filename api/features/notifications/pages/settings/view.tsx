import type { VNode } from 'preact';
import {
  isSwitchable,
  NOTIFICATIONS_PATH,
  type NotificationSettings,
} from '../../../../../shared/domain/emails/settings.ts';
import { config } from '../../../../../shared/lib/config.ts';
import { EMAIL_KINDS } from '../../../../../shared/spec/events.ts';
import { TextField } from '../../../../web/components/fields.tsx';
import { CheckBox, Form } from '../../../../web/components/form.tsx';
import { t as shared } from '../../../../web/texts.ts';
import { Section } from '../../../../web/components/section.tsx';
import { KINDS, SETTINGS, t } from './texts.ts';

/** Link to the notification settings. */
export function NotificationsSection(): VNode {
  return (
    <Section id="notifications" title={t.notifications()}>
      <p>{t.choose()}</p>
      <a class="button" href={NOTIFICATIONS_PATH}>
        {t.notificationSettings()}
      </a>
    </Section>
  );
}

/** Switches for the kinds of messages, and the threshold of low credits. */
export function NotificationsForm({ settings }: { settings: NotificationSettings }): VNode {
  const { email, creditsLowThreshold, effectiveThreshold } = settings;
  return (
    <Form action={NOTIFICATIONS_PATH}>
      <Section id="messages" title={SETTINGS.email()}>
        {config.SMTP_URL === undefined ? <p class="note">{SETTINGS.notSent()}</p> : null}
        <fieldset>
          <legend>{SETTINGS.sendWhen()}</legend>
          {EMAIL_KINDS.filter(isSwitchable).map((kind) => (
            <CheckBox name={kind} checked={email[kind]} label={KINDS[kind]()} />
          ))}
        </fieldset>
        <p class="hint">{SETTINGS.alwaysSent()}</p>
      </Section>
      <Section id="low-credits" title={SETTINGS.lowBalance()}>
        <TextField
          id="threshold"
          name="threshold"
          label={SETTINGS.threshold()}
          hint={SETTINGS.thresholdHint({ credits: effectiveThreshold })}
          isHintAbove
          inputmode="numeric"
          value={creditsLowThreshold === null ? '' : String(creditsLowThreshold)}
        />
      </Section>
      <p>
        <button type="submit" class="main">
          {shared.save()}
        </button>
      </p>
    </Form>
  );
}
