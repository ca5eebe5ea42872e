import type { AssignableRole } from '../../../spec/roles.ts';
import type { EmailTexts, TextFormats } from './emailTexts.ts';
import { describeTopupReason } from './topupReasons.ts';

function describeOrigin({ browser, dateTime, time }: TextFormats, userAgent: string, network: string): string {
  const { name, system } = browser(userAgent);
  const program = `${name ?? 'unbekannt'}${system === null ? '' : ` unter ${system}`}`;
  return `Zeit: ${dateTime(time)} UTC. Browser oder Programm: ${program}. Netzwerk: ${network === '' ? 'unbekannt' : network}.`;
}

const NOT_YOU = 'Wenn Sie das selbst waren, müssen Sie nichts tun.';

const ROLES: Record<AssignableRole, string> = {
  admin: 'Administrator',
  developer: 'Entwickler',
  billing: 'Abrechnung',
  viewer: 'Betrachter',
};

export const DE: EmailTexts = {
  greeting: (firstName) => (firstName === '' ? 'Guten Tag!' : `Guten Tag ${firstName}!`),
  reason: (brand) => `Sie erhalten diese Nachricht, weil Sie ein Konto bei ${brand} haben.`,
  securityReason: (brand) =>
    `Sie erhalten diese Nachricht, weil sie die Sicherheit Ihres Kontos bei ${brand} betrifft. Nachrichten zur Sicherheit lassen sich nicht abschalten.`,
  membershipReason: (brand) =>
    `Sie erhalten diese Nachricht, weil sie Ihren Zugang zu einem Konto bei ${brand} betrifft. Diese Nachrichten lassen sich nicht abschalten.`,
  invitationReason: (brand) =>
    `Sie erhalten diese Nachricht, weil jemand mit einem Konto bei ${brand} Ihre Adresse eingegeben hat. Ignorieren Sie sie, wenn Sie die Person nicht kennen.`,
  settings: 'Benachrichtigungen einstellen',
  unsubscribe: 'Nachrichten dieser Art abbestellen',
  support: 'Support kontaktieren',
  messages: {
    welcome: (_params, { brand }) => ({
      subject: `Willkommen bei ${brand}`,
      paragraphs: [
        `Ihr Konto bei ${brand} ist eingerichtet. Damit erstellen Sie Bilder und Videos, über die API oder mit einem KI-Assistenten.`,
        'Wählen Sie einen Tarif und erstellen Sie dann einen API-Schlüssel oder verbinden Sie einen Assistenten. Ihre Kontoseite führt Sie durch diese Schritte.',
      ],
      action: 'Jetzt starten',
    }),
    plan_active: ({ plan, credits, next_credits_at: next, renews_at: at }, { number, date, ...formats }) => ({
      subject: `Ihr Tarif ${formats.plan(plan)} ist aktiv`,
      paragraphs: [
        `Ihr Tarif ${formats.plan(plan)} ist aktiv und gibt Ihnen jeden Monat ${number(credits)} Credits.`,
        `Die nächsten Credits werden am ${date(next)} gutgeschrieben. Nicht verwendete Credits eines Monats werden einmal übertragen. Der Tarif verlängert sich am ${date(at)}.`,
        'Erstellen Sie zum Start einen API-Schlüssel oder verbinden Sie einen Assistenten.',
      ],
      action: 'Jetzt starten',
    }),
    credits_low: ({ balance, threshold }, { brand, number }) => ({
      subject: `Ihr Guthaben bei ${brand} ist niedrig: ${number(balance)} Credits`,
      paragraphs: [
        `Ihr Guthaben beträgt ${number(balance)} Credits und liegt damit unter der Schwelle von ${number(threshold)} Credits.`,
        'Generierungen, die mehr kosten als das Guthaben, werden abgelehnt. Kaufen Sie Credits, schalten Sie die automatische Aufladung ein oder warten Sie auf die nächste monatliche Gutschrift.',
      ],
      action: 'Credits kaufen',
    }),
    auto_topup_failed: ({ amount_cents: cents, failure_code: code }, { usd }) => ({
      subject: `Automatische Aufladung über ${usd(cents)} fehlgeschlagen`,
      paragraphs: [
        `Eine automatische Aufladung über ${usd(cents)} ist fehlgeschlagen. ${describeTopupReason(code, 'de')}`,
        'Es wurde nichts abgebucht und es wurden keine Credits gutgeschrieben. Bitte prüfen Sie Ihre Zahlungsmethode.',
      ],
      action: 'Abrechnung öffnen',
    }),
    auto_topup_disabled: ({ reason }) => ({
      subject: 'Die automatische Aufladung wurde ausgeschaltet',
      paragraphs: [
        `Die automatische Aufladung wurde ausgeschaltet. ${describeTopupReason(reason, 'de')}`,
        'Ab jetzt werden bei niedrigem Guthaben keine Credits mehr gekauft. Bitte prüfen Sie Ihre Zahlungsmethode und schalten Sie die automatische Aufladung danach wieder ein.',
      ],
      action: 'Abrechnung öffnen',
    }),
    payment_failed: ({ plan, spendable_until: until }, formats) => ({
      subject: `Zahlung für den Tarif ${formats.plan(plan)} fehlgeschlagen`,
      paragraphs: [
        `Die Zahlung für Ihren Tarif ${formats.plan(plan)} ist fehlgeschlagen.`,
        until === null
          ? 'Bis zur Zahlung können keine Credits verwendet werden.'
          : `Sie können Ihre Credits bis zum ${formats.dateTime(until)} UTC verwenden. Ist der Tarif bis dahin nicht bezahlt, endet das Abonnement: Nicht verwendete Credits des Tarifs verfallen, und gekaufte Credits können Sie erst wieder verwenden, wenn Sie einen Tarif wählen.`,
        'Um den Tarif zu behalten, aktualisieren Sie bitte Ihre Zahlungsmethode im Abrechnungsportal.',
      ],
      action: 'Abrechnung öffnen',
    }),
    renewal_upcoming: ({ plan, amount_cents: cents, renews_at: at, has_tax: hasTax }, { usd, date, ...formats }) => ({
      subject: `Ihr Tarif ${formats.plan(plan)} verlängert sich am ${date(at)}`,
      paragraphs: [
        `Ihr Tarif ${formats.plan(plan)} verlängert sich am ${date(at)} um ein Jahr. Der aktuelle Preis des Tarifs beträgt ${usd(cents)} pro Jahr${hasTax ? ' zuzüglich Steuern' : ''}. Der abgebuchte Betrag kann davon abweichen, zum Beispiel durch einen Rabatt, einen früheren Preis oder einen anderen Tarif, den Sie für die Verlängerung gewählt haben.`,
        'Um den Tarif zu behalten, müssen Sie nichts tun: Der Betrag wird von Ihrer Zahlungsmethode abgebucht. Um ihn zu ändern oder zu kündigen, öffnen Sie bitte vor diesem Tag die Abrechnungsseite.',
      ],
      action: 'Abrechnung öffnen',
    }),
    payout_sent: ({ amount_cents: cents }, { usd }) => ({
      subject: `Auszahlung über ${usd(cents)} gesendet`,
      paragraphs: [
        `Wir haben Ihre Affiliate-Auszahlung über ${usd(cents)} gesendet.`,
        'Es dauert einige Tage, bis sie auf Ihrem Bankkonto eingeht.',
      ],
      action: 'Affiliate-Seite öffnen',
    }),
    payout_setup_missing: ({ amount_cents: cents }, { usd }) => ({
      subject: `Auszahlungen einrichten, um ${usd(cents)} zu erhalten`,
      paragraphs: [
        `Ihre Provisionen in Höhe von ${usd(cents)} können ausgezahlt werden, aber Auszahlungen sind noch nicht eingerichtet.`,
        'Richten Sie Auszahlungen ein, um sie mit der nächsten monatlichen Auszahlung zu erhalten.',
      ],
      action: 'Auszahlungen einrichten',
    }),
    webhook_disabled: ({ url, reason }) => ({
      subject: 'Ein Webhook-Endpunkt wurde deaktiviert',
      paragraphs: [
        reason === 'gone'
          ? `Der Webhook-Endpunkt ${url} wurde deaktiviert, weil er mit 410 Gone geantwortet hat.`
          : `Der Webhook-Endpunkt ${url} wurde deaktiviert, weil fünf Tage lang alle Zustellungen an ihn fehlgeschlagen sind.`,
        'Ereignisse werden nicht mehr an ihn gesendet. Beheben Sie den Fehler und aktivieren Sie den Endpunkt danach wieder.',
      ],
      action: 'Webhooks öffnen',
    }),
    key_created: ({ name, prefix, network, user_agent: userAgent }, formats) => ({
      subject: `Neuer API-Schlüssel für Ihr Konto bei ${formats.brand}`,
      paragraphs: [
        `Der API-Schlüssel „${name}“ (${prefix}…) wurde erstellt.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Andernfalls widerrufen Sie den Schlüssel, beenden Sie alle Sitzungen und kontaktieren Sie den Support.`,
      ],
      action: 'API-Schlüssel öffnen',
    }),
    application_connected: ({ application, host, network, user_agent: userAgent }, formats) => ({
      subject: `Neue Anwendung mit Ihrem Konto bei ${formats.brand} verbunden`,
      paragraphs: [
        `Die Anwendung „${application}“ (${host}) hat Zugriff auf Ihr Konto erhalten.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Andernfalls trennen Sie die Anwendung, beenden Sie alle Sitzungen und kontaktieren Sie den Support.`,
      ],
      action: 'Anwendungen öffnen',
    }),
    new_sign_in: ({ provider, network, user_agent: userAgent }, formats) => ({
      subject: `Neue Anmeldung an Ihrem Konto bei ${formats.brand}`,
      paragraphs: [
        `Jemand hat sich mit ${formats.provider(provider)} an Ihrem Konto angemeldet.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Andernfalls beenden Sie die Sitzung, prüfen Sie die Anmeldemethoden Ihres Kontos und kontaktieren Sie den Support.`,
      ],
      action: 'Sicherheitsprotokoll öffnen',
    }),
    identity_removed: ({ provider, email, undo_until: until, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.provider(provider)} aus Ihrem Konto bei ${formats.brand} entfernt`,
      paragraphs: [
        `${formats.provider(provider)} (${email}) wurde als Anmeldemethode Ihres Kontos entfernt.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Andernfalls machen Sie die Entfernung bis zum ${formats.dateTime(until)} UTC rückgängig. Dann wird die Anmeldemethode wiederhergestellt, alle Sitzungen enden, die Anmeldemethoden, Mitglieder, Einladungen, API-Schlüssel und Anwendungen, die seit der Anmeldung hinzugekommen sind, mit der sie entfernt wurde, werden entfernt, und die seitdem hinzugefügten oder geänderten Webhook-Endpunkte werden deaktiviert.`,
      ],
      action: 'Entfernung rückgängig machen',
    }),
    member_invited: ({ inviter, account, role, expires_at: at }, { brand, dateTime }) => ({
      subject: `Einladung zu einem Konto bei ${brand}`,
      paragraphs: [
        `${inviter} lädt Sie in das Konto von ${account} bei ${brand} ein, mit der Rolle ${ROLES[role]}.`,
        `Nehmen Sie bis zum ${dateTime(at)} UTC an: Melden Sie sich mit dieser E-Mail-Adresse an. Wenn Sie nicht beitreten möchten, ignorieren Sie diese Nachricht.`,
      ],
      action: 'Einladung annehmen',
    }),
    member_removed: ({ account }, { brand }) => ({
      subject: `Sie wurden aus einem Konto bei ${brand} entfernt`,
      paragraphs: [
        `Sie sind kein Mitglied des Kontos von ${account} bei ${brand} mehr. Ihre Sitzungen darin wurden beendet.`,
        'Wenn Sie ein eigenes Konto haben, bleibt es unverändert.',
      ],
      action: 'Ihr Konto öffnen',
    }),
    member_role_changed: ({ account, role }, { brand }) => ({
      subject: `Ihre Rolle in einem Konto bei ${brand} wurde geändert`,
      paragraphs: [
        `Ihre Rolle im Konto von ${account} bei ${brand} ist ab jetzt ${ROLES[role]}.`,
        'Das gilt sofort, auch für API-Schlüssel und Anwendungen, die Sie erstellt haben.',
      ],
      action: 'Konto öffnen',
    }),
    account_handed_over: ({ owner, network, user_agent: userAgent }, formats) => ({
      subject: `Sie haben Ihr Konto bei ${formats.brand} übergeben`,
      paragraphs: [
        `${owner} ist ab jetzt Inhaber Ihres Kontos und erhält dessen Nachrichten und Auszahlungen. Ihre Rolle darin ist ${ROLES.admin}.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Andernfalls kontaktieren Sie den Support.`,
      ],
      action: 'Mitglieder öffnen',
    }),
    account_received: ({ former_owner }, { brand }) => ({
      subject: `Sie sind Inhaber eines Kontos bei ${brand}`,
      paragraphs: [
        `${former_owner} hat Ihnen ein Konto bei ${brand} übergeben. Ab jetzt erhalten Sie dessen Nachrichten und Auszahlungen.`,
        'Nur Sie können das Konto löschen oder übergeben.',
      ],
      action: 'Konto öffnen',
    }),
  },
};
