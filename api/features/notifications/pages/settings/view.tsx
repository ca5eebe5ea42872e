import type { VNode } from 'preact';
import {
  isSwitchable,
  NOTIFICATIONS_PATH,
  type NotificationSettings,
} from '../../../../../shared/domain/emails/settings.ts';
import { config } from '../../../../../shared/lib/config.ts';
import { EMAIL_KINDS } from '../../../../../shared/spec/events.ts';
import { TextField } from '../../../../web/components/fields.tsx';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { Form } from '../../../../web/components/form.tsx';
import { KIND_LABELS } from './kinds.ts';
import { t } from './texts.ts';

/** Link to the notification settings. */
export function NotificationsSection(): VNode {
  return (
    <section class="card" aria-labelledby="notifications">
      <h2 id="notifications">{t.notifications()}</h2>
      <p>{t.choose()}</p>
      <a class="button" href={NOTIFICATIONS_PATH}>
        {t.notificationSettings()}
      </a>
    </section>
  );
}

interface NotificationsFormProps {
  settings: NotificationSettings;
  csrfToken: string;
}

/** Switches for the kinds of messages, and the threshold of low credits. */
export function NotificationsForm({ settings, csrfToken }: NotificationsFormProps): VNode {
  const { email, creditsLowThreshold, effectiveThreshold } = settings;
  return (
    <Form action={NOTIFICATIONS_PATH} token={csrfToken}>
      <section class="card" aria-labelledby="messages">
        <h2 id="messages">E-mail</h2>
        {config.SMTP_URL === undefined ? (
          <p class="note">This service does not send e-mail at present. The settings apply once it does.</p>
        ) : null}
        <fieldset>
          <legend>Send a message when</legend>
          {EMAIL_KINDS.filter(isSwitchable).map((kind) => (
            <p>
              <label class="check">
                <input type="checkbox" name={kind} value="on" checked={email[kind]} /> {KIND_LABELS[kind]}
              </label>
            </p>
          ))}
        </fieldset>
        <p class="hint">
          Messages about security are always sent: when an API key is created, an application is connected, or the
          account is signed in to with a browser that it was not signed in with before.
        </p>
      </section>
      <section class="card" aria-labelledby="low-credits">
        <h2 id="low-credits">Low balance</h2>
        <TextField
          id="threshold"
          name="threshold"
          label="The balance is low below (credits)"
          hint={`At present ${formatNumber(effectiveThreshold)}. Leave it empty for a tenth of the credits of your month.`}
          isHintAbove
          inputmode="numeric"
          value={creditsLowThreshold === null ? '' : String(creditsLowThreshold)}
        />
      </section>
      <p>
        <button type="submit" class="main">
          Save
        </button>
      </p>
    </Form>
  );
}
