/** The endpoint tables of the specification: method, path, and the credential that a request needs. */
const SPECIFIED_ENDPOINTS = `
  POST   /api/generations/create/              key/cookie
  GET    /api/generations/                     key/cookie
  GET    /api/generations/:uuid/               key/cookie
  DELETE /api/generations/:uuid/               key/cookie
  POST   /api/generations/:uuid/cancel/        key/cookie
  GET    /api/models/                          public
  POST   /api/keys/create/                     key/cookie
  GET    /api/keys/                            key/cookie
  POST   /api/keys/:uuid/revoke/               key/cookie
  GET    /api/usage/summary/                   key/cookie
  GET    /api/ledger/                          key/cookie
  GET    /api/billing/plans/                   public
  GET    /api/billing/status/                  key/cookie
  POST   /api/billing/checkout/                key/cookie
  POST   /api/billing/portal/                  key/cookie
  GET    /api/billing/topup/settings/          key/cookie
  PATCH  /api/billing/topup/settings/          key/cookie
  POST   /api/billing/topup/                   key/cookie
  POST   /api/billing/webhooks/processor/      public
  GET    /api/admin/metrics/                   staff
  POST   /api/affiliate/enroll/                key/cookie
  GET    /api/affiliate/status/                key/cookie
  POST   /api/affiliate/onboarding-link/       key/cookie
  GET    /api/health/                          public
  GET    /authentication/social/config/        public
  GET    /authentication/me/                   cookie
  PATCH  /authentication/me/                   cookie
  POST   /authentication/logout/               cookie
  POST   /authentication/onboarding/advance/   cookie
  GET    /.well-known/oauth-protected-resource     public
  GET    /.well-known/oauth-authorization-server   public
  GET    /authorize                            visitor
  POST   /authorize                            visitor
  POST   /token                                public
  POST   /register                             public
  GET    /jwks.json                            public
  POST   /mcp                                  token/key
  GET    /mcp                                  token/key
  DELETE /mcp                                  token/key
`;

/** Endpoints beyond the specification: sign-in, pages, output files, and the local sign-in. */
const OWN_ENDPOINTS = `
  GET    /authentication/social/:provider/start     visitor
  GET    /authentication/social/:provider/callback  landing
  POST   /authentication/social/:provider/callback  landing
  GET    /                                     visitor
  GET    /sign-in                              visitor
  POST   /sign-in                              visitor
  GET    /account/                             member
  GET    /account/billing/                     member
  GET    /account/billing/topup/               member
  GET    /account/billing/invoices/:uuid/      member
  POST   /account/billing/topup/               member
  GET    /account/billing/auto-topup/          member
  POST   /account/billing/auto-topup/          member
  GET    /account/applications/                member
  GET    /account/connect/                     member
  GET    /account/settings/                    member
  GET    /account/usage/                       member
  GET    /account/ledger/                      member
  GET    /account/ledger/export/               member
  GET    /account/library/                     member
  GET    /account/library/:uuid/               member
  GET    /account/library/:uuid/cancel/        member
  POST   /account/library/:uuid/cancel/        member
  GET    /account/library/:uuid/delete/        member
  POST   /account/library/:uuid/delete/        member
  GET    /account/plan/                        member
  POST   /account/plan/                        member
  GET    /account/portal/                      member
  POST   /account/portal/                      member
  GET    /account/profile/                     member
  POST   /account/profile/                     member
  GET    /account/keys/                        member
  POST   /account/keys/                        member
  GET    /account/keys/:uuid/                  member
  POST   /account/keys/:uuid/                  member
  GET    /account/keys/:uuid/revoke/           member
  POST   /account/keys/:uuid/revoke/           member
  GET    /account/webhooks/                    member
  POST   /account/webhooks/                    member
  GET    /account/webhooks/default/            member
  POST   /account/webhooks/default/            member
  GET    /account/webhooks/default/rotate/     member
  POST   /account/webhooks/default/rotate/     member
  GET    /account/webhooks/:uuid/              member
  POST   /account/webhooks/:uuid/              member
  GET    /account/webhooks/:uuid/rotate/       member
  POST   /account/webhooks/:uuid/rotate/       member
  GET    /account/webhooks/:uuid/delete/       member
  POST   /account/webhooks/:uuid/delete/       member
  GET    /account/applications/:uuid/limit/    member
  POST   /account/applications/:uuid/limit/    member
  GET    /account/applications/:uuid/end/      member
  POST   /account/applications/:uuid/end/      member
  GET    /account/identities/:provider/link/   member
  POST   /account/identities/:provider/link/   member
  GET    /account/identities/:uuid/remove/     member
  POST   /account/identities/:uuid/remove/     member
  GET    /account/sessions/:uuid/end/          member
  POST   /account/sessions/:uuid/end/          member
  GET    /account/sessions/end-others/         member
  POST   /account/sessions/end-others/         member
  GET    /account/affiliate/                   member
  POST   /account/affiliate/                   member
  GET    /account/payouts/                     member
  POST   /account/payouts/                     member
  GET    /account/payouts/again                member
  GET    /account/payouts/returned             member
  GET    /account/sign-out/                    member
  POST   /account/sign-out/                    member
  GET    /account/security/                    member
  GET    /account/notifications/               member
  POST   /account/notifications/               member
  GET    /unsubscribe/:token                   link
  POST   /unsubscribe/:token                   link
  GET    /restore-sign-in/:token               link
  POST   /restore-sign-in/:token               link
  POST   /api/generations/estimate/            key/cookie
  GET    /api/notifications/settings/          key/cookie
  PATCH  /api/notifications/settings/          key/cookie
  GET    /account/export/                      member
  POST   /account/export/                      member
  GET    /account/delete/                      member
  POST   /account/delete/                      member
  GET    /account/delete/undo/                 member
  POST   /account/delete/undo/                 member
  GET    /r/:code                              visitor
  GET    /server.json                          public
  GET    /llms.txt                             public
  GET    /assets/account.js                    public
  GET    /assets/style.css                     public
  GET    /api/usage/keys/                      key/cookie
  PATCH  /api/keys/:uuid/                      key/cookie
  POST   /api/webhooks/create/                 key/cookie
  GET    /api/webhooks/                        key/cookie
  GET    /api/webhooks/default/secret/         cookie
  POST   /api/webhooks/default/rotate-secret/  cookie
  GET    /api/webhooks/:uuid/                  key/cookie
  PATCH  /api/webhooks/:uuid/                  key/cookie
  DELETE /api/webhooks/:uuid/                  key/cookie
  POST   /api/webhooks/:uuid/rotate-secret/    key/cookie
  POST   /api/webhooks/:uuid/test/             key/cookie
  GET    /api/webhooks/:uuid/deliveries/       key/cookie
  POST   /api/webhooks/:uuid/deliveries/:delivery/redeliver/  key/cookie
  GET    /api/serving/                         public
  GET    /api/ready/                           public
  GET    /admin/                               operator
  GET    /admin/accounts/                          operator
  GET    /admin/accounts/:uuid/                    operator
  GET    /admin/accounts/:uuid/ledger/             operator
  GET    /admin/accounts/:uuid/generations/        operator
  GET    /admin/accounts/:uuid/adjust/             operator
  POST   /admin/accounts/:uuid/adjust/             operator
  GET    /admin/accounts/:uuid/suspend/            operator
  POST   /admin/accounts/:uuid/suspend/            operator
  GET    /admin/accounts/:uuid/reinstate/          operator
  POST   /admin/accounts/:uuid/reinstate/          operator
  GET    /admin/accounts/:uuid/sign-out/           operator
  POST   /admin/accounts/:uuid/sign-out/           operator
  GET    /admin/accounts/:uuid/revoke-access/      operator
  POST   /admin/accounts/:uuid/revoke-access/      operator
  GET    /admin/keys/:uuid/revoke/                 operator
  POST   /admin/keys/:uuid/revoke/                 operator
  GET    /admin/topups/:uuid/refund/               operator
  POST   /admin/topups/:uuid/refund/               operator
  GET    /admin/generations/:uuid/                 operator
  GET    /admin/generations/:uuid/content/         operator
  POST   /admin/generations/:uuid/content/         operator
  GET    /admin/generations/:uuid/refund/          operator
  POST   /admin/generations/:uuid/refund/          operator
  GET    /admin/generations/:uuid/requeue/         operator
  POST   /admin/generations/:uuid/requeue/         operator
  GET    /admin/audit/                             operator
  GET    /admin/reports/                       operator
  GET    /admin/reports/failures/              operator
  GET    /admin/reports/upstreams/             operator
  GET    /admin/reports/margin/                operator
  GET    /admin/reports/onboarding/            operator
  GET    /admin/reports/churn/                 operator
  GET    /admin/reports/payment-events/        operator
  GET    /admin/reports/affiliates/            operator
  POST   /revoke                               public
  GET    /.well-known/oauth-protected-resource/mcp     public
  GET    /.well-known/oauth-protected-resource/api     public
  GET    /.well-known/oauth-authorization-server/mcp   public
  GET    /media/:shard/:token/:file            public
  POST   /api/uploads/create/                  key/cookie
  GET    /api/uploads/:uuid/                   key/cookie
  POST   /upstream-events/:token               public
  POST   /sign-in-events/apple                 public
  PUT    /uploads/:uuid/original               public
  GET    /uploads/:uuid/:file                  public
  GET    /api/billing/invoices/                key/cookie
  GET    /api/openapi.json                     public
  GET    /api/docs/                            public
  GET    /api/docs/:file                       public
  POST   /authentication/dev/sign-in/          public
`;

/** An endpoint of the tables: its method with its path, and its credential. */
export interface Endpoint {
  name: string;
  credential: string;
}

export const ENDPOINTS: readonly Endpoint[] = parseRows(SPECIFIED_ENDPOINTS + OWN_ENDPOINTS);

function parseRows(tables: string): Endpoint[] {
  return [...tables.matchAll(/(\S+) +(\S+) +(\S+)/g)].map(([, method, path, credential = '']) => ({
    name: `${method} ${path}`,
    credential,
  }));
}
