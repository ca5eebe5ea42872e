import type { AssignableRole } from '../../../spec/roles.ts';
import type { EmailTexts, TextFormats } from './emailTexts.ts';
import { describeTopupReason } from './topupReasons.ts';

function describeOrigin({ browser, dateTime, time }: TextFormats, userAgent: string, network: string): string {
  const { name, system } = browser(userAgent);
  const program = `${name ?? 'inconnu'}${system === null ? '' : ` sous ${system}`}`;
  return `Date : ${dateTime(time)} UTC. Navigateur ou programme : ${program}. Réseau : ${network === '' ? 'inconnu' : network}.`;
}

const NOT_YOU = 'Si c’était vous, vous n’avez rien à faire.';

const ROLES: Record<AssignableRole, string> = {
  admin: 'administrateur',
  developer: 'développeur',
  billing: 'facturation',
  viewer: 'lecteur',
};

export const FR: EmailTexts = {
  greeting: (firstName) => (firstName === '' ? 'Bonjour,' : `Bonjour ${firstName},`),
  reason: (brand) => `Vous recevez ce message parce que vous avez un compte ${brand}.`,
  securityReason: (brand) =>
    `Vous recevez ce message parce qu’il concerne la sécurité de votre compte ${brand}. Les messages de sécurité ne peuvent pas être désactivés.`,
  membershipReason: (brand) =>
    `Vous recevez ce message parce qu’il concerne votre accès à un compte ${brand}. Ces messages ne peuvent pas être désactivés.`,
  invitationReason: (brand) =>
    `Vous recevez ce message parce qu’une personne qui a un compte ${brand} a saisi votre adresse. Ignorez-le si vous ne la connaissez pas.`,
  settings: 'Paramètres de notification',
  unsubscribe: 'Ne plus recevoir ces messages',
  support: 'Contacter l’assistance',
  messages: {
    welcome: (_params, { brand }) => ({
      subject: `Bienvenue chez ${brand}`,
      paragraphs: [
        `Votre compte ${brand} est prêt. Il vous permet de créer des images et des vidéos, par l’API ou depuis un assistant IA.`,
        'Choisissez un forfait, puis créez une clé API ou connectez un assistant. La page de votre compte vous guide pas à pas.',
      ],
      action: 'Commencer',
    }),
    plan_active: ({ plan, credits, next_credits_at: next, renews_at: at }, { number, date, ...formats }) => ({
      subject: `Votre forfait ${formats.plan(plan)} est actif`,
      paragraphs: [
        `Votre forfait ${formats.plan(plan)} est actif et vous donne ${number(credits)} crédits chaque mois.`,
        `Les prochains crédits sont attribués le ${date(next)}. Les crédits inutilisés d’un mois sont reportés une fois. Le forfait se renouvelle le ${date(at)}.`,
        'Pour commencer, créez une clé API ou connectez un assistant.',
      ],
      action: 'Commencer',
    }),
    credits_low: ({ balance, threshold }, { brand, number }) => ({
      subject: `Votre solde ${brand} est faible : ${number(balance)} crédits`,
      paragraphs: [
        `Votre solde est de ${number(balance)} crédits, en dessous du seuil de ${number(threshold)} crédits.`,
        'Les générations qui coûtent plus que le solde sont refusées. Achetez des crédits, activez la recharge automatique ou attendez la prochaine attribution mensuelle.',
      ],
      action: 'Acheter des crédits',
    }),
    auto_topup_failed: ({ amount_cents: cents, failure_code: code }, { usd }) => ({
      subject: `La recharge automatique de ${usd(cents)} a échoué`,
      paragraphs: [
        `Une recharge automatique de ${usd(cents)} a échoué. ${describeTopupReason(code, 'fr')}`,
        'Vous n’avez pas été débité et aucun crédit n’a été ajouté. Vérifiez votre moyen de paiement.',
      ],
      action: 'Ouvrir la facturation',
    }),
    auto_topup_disabled: ({ reason }) => ({
      subject: 'La recharge automatique a été désactivée',
      paragraphs: [
        `La recharge automatique a été désactivée. ${describeTopupReason(reason, 'fr')}`,
        'Désormais, aucun crédit n’est acheté lorsque le solde est faible. Vérifiez votre moyen de paiement, puis réactivez la recharge automatique.',
      ],
      action: 'Ouvrir la facturation',
    }),
    payment_failed: ({ plan, spendable_until: until }, formats) => ({
      subject: `Le paiement du forfait ${formats.plan(plan)} a échoué`,
      paragraphs: [
        `Le paiement de votre forfait ${formats.plan(plan)} a échoué.`,
        until === null
          ? 'Les crédits ne peuvent pas être utilisés tant qu’il n’est pas payé.'
          : `Vous pouvez utiliser vos crédits jusqu’au ${formats.dateTime(until)} UTC. Si le forfait n’est pas payé d’ici là, l’abonnement prend fin : les crédits inutilisés du forfait expirent, et les crédits achetés ne peuvent être utilisés qu’après le choix d’un nouveau forfait.`,
        'Pour conserver le forfait, mettez à jour votre moyen de paiement dans le portail de facturation.',
      ],
      action: 'Ouvrir la facturation',
    }),
    renewal_upcoming: ({ plan, amount_cents: cents, renews_at: at, has_tax: hasTax }, { usd, date, ...formats }) => ({
      subject: `Votre forfait ${formats.plan(plan)} se renouvelle le ${date(at)}`,
      paragraphs: [
        `Votre forfait ${formats.plan(plan)} se renouvelle le ${date(at)} pour une année. Le prix actuel du forfait est de ${usd(cents)} par an${hasTax ? ', hors taxes' : ''}. Le montant débité peut être différent, par exemple en raison d’une remise, d’un prix antérieur ou d’un autre forfait que vous avez choisi pour le renouvellement.`,
        'Pour conserver le forfait, vous n’avez rien à faire : votre moyen de paiement est débité. Pour le modifier ou le résilier, ouvrez la page de facturation avant cette date.',
      ],
      action: 'Ouvrir la facturation',
    }),
    payout_sent: ({ amount_cents: cents }, { usd }) => ({
      subject: `Versement de ${usd(cents)} envoyé`,
      paragraphs: [
        `Nous avons envoyé votre versement d’affiliation de ${usd(cents)}.`,
        'Il arrive sur votre compte bancaire sous quelques jours.',
      ],
      action: 'Ouvrir la page d’affiliation',
    }),
    payout_setup_missing: ({ amount_cents: cents }, { usd }) => ({
      subject: `Configurez les versements pour recevoir ${usd(cents)}`,
      paragraphs: [
        `Vos commissions de ${usd(cents)} peuvent être versées, mais les versements ne sont pas configurés.`,
        'Configurez les versements pour les recevoir avec le prochain versement mensuel.',
      ],
      action: 'Configurer les versements',
    }),
    webhook_disabled: ({ url, reason }) => ({
      subject: 'Un endpoint de webhook a été désactivé',
      paragraphs: [
        reason === 'gone'
          ? `L’endpoint de webhook ${url} a été désactivé, car il a répondu 410 Gone.`
          : `L’endpoint de webhook ${url} a été désactivé, car tous les envois ont échoué pendant cinq jours.`,
        'Les événements ne lui sont plus envoyés. Corrigez l’endpoint, puis réactivez-le.',
      ],
      action: 'Ouvrir les webhooks',
    }),
    key_created: ({ name, prefix, network, user_agent: userAgent }, formats) => ({
      subject: `Nouvelle clé API pour votre compte ${formats.brand}`,
      paragraphs: [
        `La clé API « ${name} » (${prefix}…) a été créée.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Sinon, révoquez la clé, déconnectez toutes les sessions et contactez l’assistance.`,
      ],
      action: 'Ouvrir les clés API',
    }),
    application_connected: ({ application, host, network, user_agent: userAgent }, formats) => ({
      subject: `Nouvelle application connectée à votre compte ${formats.brand}`,
      paragraphs: [
        `L’application « ${application} » (${host}) a obtenu l’accès à votre compte.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Sinon, déconnectez l’application et toutes les sessions, puis contactez l’assistance.`,
      ],
      action: 'Ouvrir les applications',
    }),
    new_sign_in: ({ provider, network, user_agent: userAgent }, formats) => ({
      subject: `Nouvelle connexion à votre compte ${formats.brand}`,
      paragraphs: [
        `Une connexion à votre compte a eu lieu avec ${formats.provider(provider)}.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Sinon, mettez fin à la session, vérifiez les méthodes de connexion de votre compte et contactez l’assistance.`,
      ],
      action: 'Ouvrir le journal de sécurité',
    }),
    identity_removed: ({ provider, email, undo_until: until, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.provider(provider)} supprimé de votre compte ${formats.brand}`,
      paragraphs: [
        `${formats.provider(provider)} (${email}) a été supprimé des méthodes de connexion de votre compte.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Sinon, annulez la suppression avant le ${formats.dateTime(until)} UTC. La méthode de connexion est alors rétablie, toutes les sessions prennent fin, les méthodes de connexion, membres, invitations, clés API et applications ajoutés depuis la connexion qui l’a supprimée sont retirés, et les endpoints de webhook ajoutés ou modifiés depuis lors sont désactivés.`,
      ],
      action: 'Annuler la suppression',
    }),
    member_invited: ({ inviter, account, role, expires_at: at }, { brand, dateTime }) => ({
      subject: `Invitation à rejoindre un compte ${brand}`,
      paragraphs: [
        `${inviter} vous invite à rejoindre le compte de ${account} chez ${brand}, avec le rôle ${ROLES[role]}.`,
        `Acceptez avant le ${dateTime(at)} UTC : connectez-vous avec cette adresse e-mail. Si vous ne souhaitez pas le rejoindre, ignorez ce message.`,
      ],
      action: 'Accepter l’invitation',
    }),
    member_removed: ({ account }, { brand }) => ({
      subject: `Vous avez été retiré d’un compte ${brand}`,
      paragraphs: [
        `Vous n’êtes plus membre du compte de ${account} chez ${brand}. Vos sessions dans ce compte ont pris fin.`,
        'Si vous avez votre propre compte, il reste inchangé.',
      ],
      action: 'Ouvrir votre compte',
    }),
    member_role_changed: ({ account, role }, { brand }) => ({
      subject: `Votre rôle dans un compte ${brand} a changé`,
      paragraphs: [
        `Votre rôle dans le compte de ${account} chez ${brand} est désormais : ${ROLES[role]}.`,
        'Ce changement s’applique immédiatement, y compris aux clés API et aux applications que vous avez créées.',
      ],
      action: 'Ouvrir le compte',
    }),
    account_handed_over: ({ owner, network, user_agent: userAgent }, formats) => ({
      subject: `Vous avez transféré votre compte ${formats.brand}`,
      paragraphs: [
        `${owner} est désormais propriétaire de votre compte et en reçoit les messages et les paiements. Votre rôle dans ce compte : ${ROLES.admin}.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Sinon, contactez l’assistance.`,
      ],
      action: 'Ouvrir les membres',
    }),
    account_received: ({ former_owner }, { brand }) => ({
      subject: `Vous êtes propriétaire d’un compte ${brand}`,
      paragraphs: [
        `${former_owner} vous a transféré un compte ${brand}. Vous en recevez désormais les messages et les paiements.`,
        'Vous seul pouvez supprimer ou transférer le compte.',
      ],
      action: 'Ouvrir le compte',
    }),
  },
};
