// Generated from docs/openapi.json by npm run openapi. Do not edit.

export interface paths {
    "/api/generations/create/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a generation
         * @description Charges the credits and queues the generation: 8 credits for an image, 35 for a video of 5 seconds, 70 for one of 10 seconds. Errors take precedence in this order: 401, 429, 400, 402 `subscription_required`, 503, 409, 402 `spending_limit_reached`, 402 `insufficient_credits`. A 4xx charges nothing. With content moderation, a denied prompt is 400 `content_rejected`. While the outcome of an automatic top-up is unknown, the response is 503 `internal_error`; repeat the request with the same `Idempotency-Key` to get the outcome.
         */
        post: operations["createGeneration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/generations/estimate/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Estimate a generation
         * @description Returns the price of a create with this body, and what the create would do now. Charges nothing, triggers no automatic top-up, and is not sent to content moderation. The price is exact; balance and `refusal` are those of the moment. Send `max_credits` with the create to be sure of the price.
         */
        post: operations["estimateGeneration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/generations/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List generations, newest first
         * @description With a filter, at most 10000 matches are counted and shown: a `total_items` of 10001 means that there are more, and a page after those is a 400. Narrow the list by `created_after` and `created_before` to read them.
         */
        get: operations["listGenerations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/generations/{uuid}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a generation
         * @description Poll at most every 2 seconds until `status` is `succeeded` or `failed`, or use `wait` for long polling.
         */
        get: operations["getGeneration"];
        put?: never;
        post?: never;
        /**
         * Delete a generation
         * @description Removes it from lists and deletes its files. Credits are not refunded; a queued generation still runs to its end.
         */
        delete: operations["deleteGeneration"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/generations/{uuid}/cancel/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a generation
         * @description Ends and refunds a queued generation that was not submitted to its model yet: 200 with `failed` and the `error_message` "Canceled.". For one that was submitted the response is 202: it is cancelled at the provider, and refunded if that confirms that it did not start; otherwise it continues. Safe to repeat: a generation that has ended is returned with 200, unchanged.
         */
        post: operations["cancelGeneration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/uploads/create/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an upload
         * @description Send the file to `upload_url` with `PUT` and the `headers`, then name it in `params` of a create as `upload:<uuid>`. PNG, JPEG and WebP of at most 50 megapixels. Kept for 24 hours after the last use, or as long as a generation that uses it. 404 if no model takes images.
         */
        post: operations["createUpload"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/uploads/{uuid}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an upload
         * @description Decodes the file if it has arrived. The first generation that uses the upload does the same, so this call is optional.
         */
        get: operations["getUpload"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List models */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/create/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an API key
         * @description The key is returned in this response only. An account has at most 20 active keys. A key with `mode: test` acts on a test account: its generations cost nothing and are watermarked samples, and it cannot change billing or API keys. Without options a key has all rights of the account. A key with any option cannot create or change keys, and needs the scope `account` for billing, webhooks, notifications, the affiliate program, and to list and revoke keys; requests beyond its options get 403 `insufficient_scope`, and after its expiry 401 `invalid_api_key`.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys, newest first
         * @description Includes revoked keys. The secret is never returned.
         */
        get: operations["listApiKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/keys/{uuid}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change an API key
         * @description What is not given stays as it is; null removes an option. Takes effect immediately. Without options a key has all rights of the account. A key with any option cannot create or change keys, and needs the scope `account` for billing, webhooks, notifications, the affiliate program, and to list and revoke keys; requests beyond its options get 403 `insufficient_scope`, and after its expiry 401 `invalid_api_key`.
         */
        patch: operations["updateApiKey"];
        trace?: never;
    };
    "/api/keys/{uuid}/revoke/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke an API key
         * @description Takes effect immediately and cannot be undone. Revoking a revoked key changes nothing.
         */
        post: operations["revokeApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage/summary/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get balance and usage */
        get: operations["getUsageSummary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage/keys/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the usage of each API key
         * @description All keys of the account, newest first, including revoked ones, with their usage since they were created. The rest of `by_model` in the usage summary was created without a key: by assistants and in a browser session, or before keys were recorded.
         */
        get: operations["listKeyUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage/members/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the usage of each member
         * @description All members of the account, newest first, including removed ones, with the usage of their sessions, API keys and applications since they joined.
         */
        get: operations["listMemberUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ledger/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List ledger entries, newest first
         * @description All changes of the balance. The ledger is append-only. With a filter, at most 10000 matches are counted and shown: a `total_items` of 10001 means that there are more, and a page after those is a 400. Narrow the list by `created_after` and `created_before` to read them. With `Accept: text/csv` the response is a file with all matching entries, whatever the `page`.
         */
        get: operations["listLedgerEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/create/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a webhook endpoint
         * @description The secret is returned in this response only. An account has at most 10 endpoints.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List webhook endpoints, newest first */
        get: operations["listWebhooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/default/secret/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the default secret
         * @description Signs the events of generations that were created with a `webhook_url`; with `mode=test`, of those that a test key created.
         */
        get: operations["getDefaultWebhookSecret"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/default/rotate-secret/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the default secret
         * @description For 24 hours messages are also signed with the former keys.
         */
        post: operations["rotateDefaultWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{uuid}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a webhook endpoint */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint
         * @description Deletes its deliveries too. Pending ones are not sent.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /**
         * Update a webhook endpoint
         * @description Fields that are absent stay as they are. `enabled: false` fails pending deliveries; `enabled: true` also enables an endpoint that was disabled because it failed.
         */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/api/webhooks/{uuid}/rotate-secret/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the keys of a webhook endpoint
         * @description For 24 hours messages are also signed with the former keys. A second rotation within this time ends the keys before the first.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{uuid}/test/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description Sends `webhook.test` to the endpoint, whatever types it receives. A 400 while the endpoint is disabled.
         */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{uuid}/deliveries/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries, newest first
         * @description Deliveries are kept for 30 days. At most 10000 are counted and shown: a `total_items` of 10001 means that there are more, and a page after those is a 400. Takes also the `uuid` of `GET /api/webhooks/default/secret/`.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{uuid}/deliveries/{delivery}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a delivery with its attempts
         * @description Shows what was sent and how the receiver responded. The other headers of the requests are constant.
         */
        get: operations["getWebhookDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/webhooks/{uuid}/deliveries/{delivery}/redeliver/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver an event again
         * @description Starts a new round of attempts with the same `webhook-id`. A 400 while the delivery is pending or the endpoint is disabled.
         */
        post: operations["redeliverWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/billing/plans/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List plans */
        get: operations["listPlans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/billing/status/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the subscription status */
        get: operations["getBillingStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/billing/checkout/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a checkout for a plan
         * @description Subscribes the account, or changes its plan. Plans are charged once a year. Returns 400 for the plan that the account already has.
         */
        post: operations["checkOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/billing/portal/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open the billing portal
         * @description Creates a link to the page of the payment processor for invoices, payment methods and cancellation.
         */
        post: operations["openBillingPortal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/billing/invoices/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List invoices, newest first
         * @description Invoices of the subscription and of top-ups. The list is read from the database, so that it works while the payment processor is unavailable. The number and the addresses of a top-up follow some seconds after its payment.
         */
        get: operations["listInvoices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/billing/topup/settings/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the settings of automatic top-ups */
        get: operations["getTopupSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update the settings of automatic top-ups
         * @description Omitted fields keep their values. Enabling automatic top-ups requires an active subscription and a payment method. They are charged at most once an hour.
         */
        patch: operations["updateTopupSettings"];
        trace?: never;
    };
    "/api/billing/topup/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Buy credits
         * @description Buys `floor(amount_cents x monthly_credits / price_monthly_cents)` credits at the rate of the plan. They are added when the payment completes. If the service collects tax, it is added to the amount; a promotion code reduces price and credits in the same proportion. While 10 top-ups wait for payment, another one returns 429 with the time until the oldest expires.
         */
        post: operations["topUp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/billing/webhooks/processor/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive an event of the payment processor
         * @description Called by the processor only. Rejected requests count against the rate limit of their address.
         */
        post: operations["receivePaymentEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/gift-codes/redeem/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redeem a gift code
         * @description Adds its credits to the balance, once for each account. They do not expire at the end of the month. A 400 says why a code cannot be redeemed.
         */
        post: operations["redeemGiftCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/gift-codes/create/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a gift code
         * @description The code is returned in this response only. All its redemptions count against the daily limit of the member.
         */
        post: operations["createGiftCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/gift-codes/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List gift codes, newest first */
        get: operations["listGiftCodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/gift-codes/{uuid}/revoke/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a gift code
         * @description Takes effect immediately. What was redeemed stays. Revoking a revoked code changes nothing.
         */
        post: operations["revokeGiftCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/members/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List members, newest first
         * @description Includes those who left or were removed, with the keys and applications that they made and that stay.
         */
        get: operations["listMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/members/{uuid}/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change the role or the spending limit of a member
         * @description What is not given stays as it is. Takes effect immediately, also for the keys and applications of the member.
         */
        patch: operations["updateMember"];
        trace?: never;
    };
    "/api/members/{uuid}/remove/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove a member
         * @description Ends the sessions of the member in this account. Keys and applications stay with the last role unless they are revoked.
         */
        post: operations["removeMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/members/{uuid}/revoke-access/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke the API keys and applications of a member
         * @description Also of one who was removed.
         */
        post: operations["revokeMemberAccess"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/members/{uuid}/hand-over/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hand the account over to a member
         * @description The member becomes the owner, whose address is that of the account. The former owner becomes an admin.
         */
        post: operations["handOverAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/authentication/leave/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Leave the account
         * @description Ends the sessions of the member in this account. The owner hands the account over first.
         */
        post: operations["leaveAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/invitations/create/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Invite a person
         * @description Sends a link by e-mail, which only the invited address can accept, for 7 days. An open invitation of the address is replaced.
         */
        post: operations["inviteMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/invitations/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List open invitations, newest first
         * @description Those that were not accepted or revoked, also after their expiry.
         */
        get: operations["listInvitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/invitations/{uuid}/resend/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an invitation again
         * @description With a new link, which is valid for 7 days. The former link stops working.
         */
        post: operations["resendInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/invitations/{uuid}/revoke/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke an invitation */
        post: operations["revokeInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/authentication/accounts/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the accounts of the signed-in user */
        get: operations["listAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/authentication/accounts/{uuid}/switch/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Switch to another account
         * @description The session acts on that account from then on, and so do later sign-ins.
         */
        post: operations["switchAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/notifications/settings/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the notification settings */
        get: operations["getNotificationSettings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Update the notification settings
         * @description Omitted fields keep their values. `key_created`, `application_connected`, `new_sign_in` and `identity_removed` are about security and cannot be switched off. The threshold also applies to the webhook event `credits.low`.
         */
        patch: operations["updateNotificationSettings"];
        trace?: never;
    };
    "/api/affiliate/enroll/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enroll in the affiliate program
         * @description Repeating the request returns the same code.
         */
        post: operations["enrollAsAffiliate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/affiliate/status/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get referrals and earnings
         * @description Returns 404 before the account is enrolled. Commissions are pending until they can be paid out.
         */
        get: operations["getAffiliateStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/affiliate/onboarding-link/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an onboarding link for payouts
         * @description Returns a link to the payment processor's page where the affiliate enters or updates the payout details.
         */
        post: operations["createAffiliateOnboardingLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/admin/metrics/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the staff metrics */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the service responds */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/serving/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ask whether this process accepts requests
         * @description For load balancers. 503 only while the process is stopping, not while a server that it needs is unavailable.
         */
        get: operations["getServing"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ready/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the service is ready
         * @description Readiness probe for orchestrators: checks database, migrations, Redis and workers. With 503, `detail` states what is unavailable.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get this OpenAPI document */
        get: operations["getDescription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/authentication/social/config/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the sign-in providers
         * @description Browsers sign in at `/authentication/social/{provider}/start`.
         */
        get: operations["getSocialConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/authentication/me/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the signed-in user */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Update the profile */
        patch: operations["updateMe"];
        trace?: never;
    };
    "/authentication/logout/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign out */
        post: operations["logOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/authentication/onboarding/advance/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete an onboarding step
         * @description First `profile`, then `plan`, which requires an active subscription.
         */
        post: operations["advanceOnboarding"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/authentication/dev/sign-in/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in without a provider
         * @description Available in local development only, while no provider is configured. Sets the session cookie.
         */
        post: operations["signInLocally"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    "generation.succeeded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A generation succeeded */
        post: operations["onGenerationSucceeded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "generation.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A generation failed and was refunded */
        post: operations["onGenerationFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "credits.low": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The balance fell below the threshold */
        post: operations["onCreditsLow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "credits.granted": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Credits were granted */
        post: operations["onCreditsGranted"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "topup.succeeded": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A top-up was paid and credited */
        post: operations["onTopupSucceeded"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "topup.failed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A top-up failed */
        post: operations["onTopupFailed"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "subscription.updated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The subscription changed */
        post: operations["onSubscriptionUpdated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.created": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** An API key was created */
        post: operations["onKeyCreated"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "key.revoked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** An API key was revoked */
        post: operations["onKeyRevoked"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "affiliate.commission": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A commission was earned */
        post: operations["onAffiliateCommission"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "affiliate.payout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A payout was sent */
        post: operations["onAffiliatePayout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "webhook.test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A test of an endpoint was requested */
        post: operations["onWebhookTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        VideoParams: {
            /**
             * @description Length of the video in seconds.
             * @enum {integer}
             */
            duration: 5 | 10;
            /** @enum {string} */
            resolution: "720p" | "1080p";
            /**
             * @description Whether the video gets sound.
             * @default false
             */
            audio?: boolean;
            /**
             * @default 16:9
             * @enum {string}
             */
            aspect_ratio?: "16:9" | "9:16";
        };
        ImageParams: {
            /** @enum {string} */
            resolution: "1K" | "2K" | "4K";
            /**
             * @default 1:1
             * @enum {string}
             */
            aspect_ratio?: "16:9" | "1:1" | "9:16";
        };
        Generation: {
            /** Format: uuid */
            uuid: string;
            /** @enum {string} */
            model: "vidmodel-video" | "imgmodel-2";
            model_name: string;
            /** @enum {string} */
            kind: "video" | "image";
            prompt: string;
            /** @description The requested parameters, including defaults */
            params: {
                /**
                 * @description Length of the video in seconds.
                 * @enum {integer}
                 */
                duration: 5 | 10;
                /** @enum {string} */
                resolution: "720p" | "1080p";
                /**
                 * @description Whether the video gets sound.
                 * @default false
                 */
                audio: boolean;
                /**
                 * @default 16:9
                 * @enum {string}
                 */
                aspect_ratio: "16:9" | "9:16";
            } | {
                /** @enum {string} */
                resolution: "1K" | "2K" | "4K";
                /**
                 * @default 1:1
                 * @enum {string}
                 */
                aspect_ratio: "16:9" | "1:1" | "9:16";
            };
            /** @enum {string} */
            status: "queued" | "succeeded" | "failed";
            /** @description Download address; null until succeeded */
            output_url: string | null;
            /** @description Address of a small preview; null until succeeded, or if none could be created */
            thumbnail_url: string | null;
            /** @description All files, if there are several; output_url is the first */
            outputs?: {
                output_url: string;
                thumbnail_url: string | null;
            }[];
            credits_charged: number;
            /** @description Reason of the failure; the credits were refunded */
            error_message: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            completed_at: string | null;
            /** @description From created_at to completed_at */
            duration_ms: number | null;
            is_watermarked: boolean;
            /** @description As in the create; absent without metadata */
            metadata?: {
                [key: string]: string;
            };
        };
        Estimate: {
            /** @enum {string} */
            model: "vidmodel-video" | "imgmodel-2";
            /** @description The requested parameters, including defaults */
            params: {
                /**
                 * @description Length of the video in seconds.
                 * @enum {integer}
                 */
                duration: 5 | 10;
                /** @enum {string} */
                resolution: "720p" | "1080p";
                /**
                 * @description Whether the video gets sound.
                 * @default false
                 */
                audio: boolean;
                /**
                 * @default 16:9
                 * @enum {string}
                 */
                aspect_ratio: "16:9" | "9:16";
            } | {
                /** @enum {string} */
                resolution: "1K" | "2K" | "4K";
                /**
                 * @default 1:1
                 * @enum {string}
                 */
                aspect_ratio: "16:9" | "1:1" | "9:16";
            };
            /** @description Price of the generation */
            credits: number;
            balance: number;
            /** @description Balance less the price; negative by the credits that are missing */
            balance_after: number;
            /** @description Whether the balance covers the price */
            affordable: boolean;
            /** @description Median time that recent runs of the model took; null while it is not known */
            usual_seconds: number | null;
            /** @description Error with which a create would be rejected now; null if it would be accepted */
            refusal: {
                /** @enum {string} */
                error: "subscription_required" | "model_unavailable" | "parallel_limit_reached" | "spending_limit_reached" | "insufficient_credits";
                detail: string;
            } | null;
        };
        Pagination: {
            /** @description The address of the next page */
            next: string | null;
            /** @description The address of the previous page */
            previous: string | null;
            /** @description From 1 */
            current_page: number;
            total_pages: number;
            total_items: number;
        };
        CreatedUpload: {
            /** Format: uuid */
            uuid: string;
            /** @description Receives the file, with the method PUT and no other credential */
            upload_url: string;
            /** @description Headers that the PUT request must carry */
            headers: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description Until then the file can be sent
             */
            expires_at: string;
        };
        Upload: {
            /** Format: uuid */
            uuid: string;
            /**
             * @description `pending` until the file has arrived, then `ready`, or `failed` if it cannot be used
             * @enum {string}
             */
            status: "pending" | "ready" | "failed";
            /**
             * @description As announced; that of the stored image once ready
             * @enum {string}
             */
            content_type: "image/png" | "image/jpeg" | "image/webp";
            /** @description As announced; those of the stored image once ready */
            bytes: number;
            /** @description In pixels; null until ready */
            width: number | null;
            /** @description In pixels; null until ready */
            height: number | null;
            /** @description Why the file cannot be used */
            error: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it is deleted unless it is used until then, or a generation uses it
             */
            expires_at: string;
        };
        Model: {
            /** Format: uuid */
            uuid: string;
            /**
             * @description Sent as model when creating a generation
             * @enum {string}
             */
            slug: "vidmodel-video" | "imgmodel-2";
            name: string;
            /** @description The provider of the model */
            provider: string;
            /** @enum {string} */
            kind: "video" | "image";
            description: string;
            /** @description Price of the cheapest generation, in credits */
            credits_base: number;
            /**
             * @description Only an offline model rejects creates
             * @enum {string}
             */
            status: "online" | "degraded" | "offline";
            sort_order: number;
            /** @description The accepted values */
            params_schema: {
                /** @description Seconds */
                durations?: number[];
                resolutions: string[];
                /** @description Whether sound is supported */
                audio?: boolean;
                aspect_ratios: string[];
            };
        };
        CreatedApiKey: {
            /** Format: uuid */
            uuid: string;
            name: string;
            /** @description The secret key, shown only once */
            key: string;
            prefix: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * @description test for a test key; absent for others
             * @enum {string}
             */
            mode?: "test";
            /** @description Without it: the whole account, or with another option `svc:read` and `svc:write` */
            scopes?: ("svc:read" | "svc:write" | "account")[];
            /**
             * Format: date-time
             * @description Without it: never
             */
            expires_at?: string;
            credit_limit?: {
                /** @description Most credits to spend */
                credits: number;
                /**
                 * @description A UTC day, a UTC month, or all time
                 * @enum {string}
                 */
                period: "day" | "month" | "total";
            };
            /** @description Credits used of the limit, less refunds */
            credits_used?: number;
            /**
             * Format: date-time
             * @description Start of the next day or month in UTC; null for the period total
             */
            resets_at?: string | null;
            /** @description Models; without it: all */
            allowed_models?: string[];
            /** @description Addresses and ranges in CIDR notation; without it: all */
            allowed_ips?: string[];
        };
        ApiKey: {
            /** Format: uuid */
            uuid: string;
            name: string;
            /** @description The first 12 characters of the key */
            prefix: string;
            /**
             * Format: date-time
             * @description Updated at most once in 60 seconds
             */
            last_used_at: string | null;
            revoked: boolean;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * @description test for a test key; absent for others
             * @enum {string}
             */
            mode?: "test";
            /** @description Without it: the whole account, or with another option `svc:read` and `svc:write` */
            scopes?: ("svc:read" | "svc:write" | "account")[];
            /**
             * Format: date-time
             * @description Without it: never
             */
            expires_at?: string;
            credit_limit?: {
                /** @description Most credits to spend */
                credits: number;
                /**
                 * @description A UTC day, a UTC month, or all time
                 * @enum {string}
                 */
                period: "day" | "month" | "total";
            };
            /** @description Credits used of the limit, less refunds */
            credits_used?: number;
            /**
             * Format: date-time
             * @description Start of the next day or month in UTC; null for the period total
             */
            resets_at?: string | null;
            /** @description Models; without it: all */
            allowed_models?: string[];
            /** @description Addresses and ranges in CIDR notation; without it: all */
            allowed_ips?: string[];
        };
        UsageSummary: {
            /** @description null without an active subscription */
            plan: {
                /** @enum {string} */
                slug: "lite" | "starter" | "pro" | "studio";
                name: string;
                monthly_credits: number;
                parallel_limit: number;
                price_monthly_cents: number;
            } | null;
            credits: {
                balance: number;
                used_this_period: number;
                granted_this_period: number;
                rollover: number;
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC
                 */
                period_start: string | null;
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC
                 */
                period_end: string | null;
            };
            jobs: {
                in_flight: number;
                parallel_limit: number;
            };
            /** @description The last 30 days, today last */
            history: {
                /** Format: date */
                date: string;
                credits_used: number;
                generations: number;
            }[];
            by_model: {
                /** @description Display name */
                model: string;
                credits: number;
                count: number;
            }[];
        };
        KeyUsage: {
            /** Format: uuid */
            uuid: string;
            name: string;
            /** @description The first 12 characters of the key */
            prefix: string;
            revoked: boolean;
            /** @description Credits of the generations that the key created, less refunds */
            credits: number;
            /** @description Generations that the key created, including failed and deleted ones */
            count: number;
        };
        MemberUsage: {
            /** Format: uuid */
            uuid: string;
            email: string;
            /** @description True for one who left or was removed */
            removed: boolean;
            /** @description Credits of the generations that the member created, less refunds */
            credits: number;
            /** @description Generations that the member created, including failed and deleted ones */
            count: number;
        };
        LedgerEntry: {
            /** Format: uuid */
            uuid: string;
            /** @enum {string} */
            entry_type: "grant" | "burn" | "refund" | "rollover" | "expiry" | "topup";
            /** @description Credits, signed: a burn is negative */
            amount: number;
            balance_after: number;
            description: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        WebhookEndpointWithSecret: {
            /** Format: uuid */
            uuid: string;
            url: string;
            /** @description Types of events that it receives; null for all */
            events: ("generation.succeeded" | "generation.failed" | "credits.low" | "credits.granted" | "topup.succeeded" | "topup.failed" | "subscription.updated" | "key.created" | "key.revoked" | "affiliate.commission" | "affiliate.payout")[] | null;
            description: string;
            enabled: boolean;
            /**
             * @description `owner`: by the owner, or by support with all access to the account. `gone`: it answered 410. `failing`: all attempts of five days failed
             * @enum {string|null}
             */
            disabled_reason: "owner" | "gone" | "failing" | null;
            /**
             * Format: date-time
             * @description The first failed attempt since the last successful one
             */
            failing_since: string | null;
            /** @description Verifies signatures of the version `v1a` */
            public_key: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /** @description Verifies signatures of the version `v1` */
            secret: string;
        };
        WebhookEndpoint: {
            /** Format: uuid */
            uuid: string;
            url: string;
            /** @description Types of events that it receives; null for all */
            events: ("generation.succeeded" | "generation.failed" | "credits.low" | "credits.granted" | "topup.succeeded" | "topup.failed" | "subscription.updated" | "key.created" | "key.revoked" | "affiliate.commission" | "affiliate.payout")[] | null;
            description: string;
            enabled: boolean;
            /**
             * @description `owner`: by the owner, or by support with all access to the account. `gone`: it answered 410. `failing`: all attempts of five days failed
             * @enum {string|null}
             */
            disabled_reason: "owner" | "gone" | "failing" | null;
            /**
             * Format: date-time
             * @description The first failed attempt since the last successful one
             */
            failing_since: string | null;
            /** @description Verifies signatures of the version `v1a` */
            public_key: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        WebhookDelivery: {
            /** Format: uuid */
            uuid: string;
            /**
             * Format: uuid
             * @description `webhook-id` is `msg_` and this
             */
            event_uuid: string;
            /** @description Type of the event */
            type: string;
            /** @description Address of the next attempt, or of the last one */
            url: string;
            /** @enum {string} */
            status: "pending" | "succeeded" | "failed";
            /** @description Attempts since the event, or since the delivery was started again */
            attempts: number;
            /**
             * Format: date-time
             * @description null unless `status` is `pending`
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            last_attempt_at: string | null;
            /** @description HTTP status of the last response; null if there was none */
            last_status: number | null;
            /** @description Reason why the last attempt failed */
            last_error: string | null;
            /** @description Duration of the last attempt; null if there was none */
            last_duration_ms: number | null;
            /**
             * Format: date-time
             * @description null unless `status` is `succeeded`
             */
            delivered_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        WebhookDeliveryDetails: {
            /** Format: uuid */
            uuid: string;
            /**
             * Format: uuid
             * @description `webhook-id` is `msg_` and this
             */
            event_uuid: string;
            /** @description Type of the event */
            type: string;
            /** @description Address of the next attempt, or of the last one */
            url: string;
            /** @enum {string} */
            status: "pending" | "succeeded" | "failed";
            /** @description Attempts since the event, or since the delivery was started again */
            attempts: number;
            /**
             * Format: date-time
             * @description null unless `status` is `pending`
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            last_attempt_at: string | null;
            /** @description HTTP status of the last response; null if there was none */
            last_status: number | null;
            /** @description Reason why the last attempt failed */
            last_error: string | null;
            /** @description Duration of the last attempt; null if there was none */
            last_duration_ms: number | null;
            /**
             * Format: date-time
             * @description null unless `status` is `succeeded`
             */
            delivered_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /** @description The body that each attempt sends */
            body: string;
            /** @description The attempts, oldest first; the latest 20 if there are more */
            attempt_log: {
                /**
                 * Format: date-time
                 * @description ISO 8601, UTC. `webhook-timestamp` is this in seconds
                 */
                sent_at: string;
                duration_ms: number;
                /** @description HTTP status of the response; null if there was none */
                status: number | null;
                /** @description Reason why the attempt failed; null if it succeeded */
                error: string | null;
                /** @description `webhook-signature` of the request; null if none was sent */
                signature: string | null;
                /** @description The first 1024 bytes of the response; null if it is empty or not UTF-8 text */
                response_body: string | null;
                /** @description True if the response is not UTF-8 text */
                response_is_binary: boolean;
            }[];
        };
        Plan: {
            /** @enum {string} */
            slug: "lite" | "starter" | "pro" | "studio";
            name: string;
            /** @description Monthly sticker price, for display */
            price_monthly_cents: number;
            /** @description Charged: twelve times the monthly price, once a year */
            price_yearly_cents: number;
            monthly_credits: number;
            parallel_limit: number;
            features: string[];
            /** @description Presented as the default */
            highlight: boolean;
        };
        BillingStatus: {
            /** @description null without an active subscription */
            plan: {
                /** @enum {string} */
                slug: "lite" | "starter" | "pro" | "studio";
                name: string;
                parallel_limit: number;
            } | null;
            /**
             * @description none if there never was a subscription
             * @enum {string}
             */
            status: "active" | "past_due" | "canceled" | "unpaid" | "incomplete" | "none";
            /** @constant */
            interval: "yearly";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            current_period_end: string | null;
            cancel_at_period_end: boolean;
            /** @description The payment processor */
            processor: string;
            /** @description Whether automatic top-ups can be switched on */
            has_payment_method: boolean;
        };
        Checkout: {
            /** @description Page to pay or confirm at; null if nothing is left to do */
            checkout_url: string | null;
            /** @description true if the change is active immediately, without a payment processor */
            activated?: boolean;
        };
        Invoice: {
            /** Format: uuid */
            uuid: string;
            /** @description The id at the payment processor; null until it has issued the invoice, and without a payment processor */
            invoice_id: string | null;
            /** @description The number printed on the invoice */
            number: string | null;
            /** @enum {string} */
            kind: "subscription" | "topup";
            description: string;
            /** @enum {string} */
            status: "open" | "paid" | "void" | "uncollectible";
            /** @description Three letters in lower case */
            currency: string;
            /** @description With tax and after discounts */
            total_cents: number;
            tax_cents: number;
            discount_cents: number;
            /** @description The total without tax */
            net_cents: number;
            /** @description The part of the total that was refunded or is disputed */
            refunded_cents: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            paid_at: string | null;
            /** @description Page of the invoice; expires about 30 days after the invoice was issued */
            hosted_invoice_url: string | null;
            /** @description The invoice as PDF; expires like the page */
            pdf_url: string | null;
        };
        TopupSettings: {
            auto_topup_enabled: boolean;
            auto_topup_amount_cents: number;
            auto_topup_threshold_credits: number;
            /** @description Credits for the amount at the rate of the current plan */
            preview_credits: number;
            /** @description Reason why automatic top-ups were disabled; present only then */
            auto_topup_problem?: string;
        };
        TopupSettingsChange: {
            auto_topup_enabled?: boolean;
            auto_topup_amount_cents?: number;
            auto_topup_threshold_credits?: number;
        };
        RedeemedGiftCode: {
            /** @description Credits of the code */
            credits: number;
            /** @description Balance after them */
            balance: number;
        };
        GiftCode: {
            /** Format: uuid */
            uuid: string;
            /** @description The part of the code by which people recognize it */
            prefix: string;
            credits: number;
            /** @description Redemptions so far */
            uses: number;
            uses_max: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            revoked_at: string | null;
            note: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
        };
        Member: {
            /** Format: uuid */
            uuid: string;
            email: string;
            first_name: string;
            /**
             * @description What the member may do: see Members
             * @enum {string}
             */
            role: "owner" | "admin" | "developer" | "billing" | "viewer";
            /** @description Active API keys that the member created */
            api_keys: number;
            /** @description Connected applications that the member approved */
            applications: number;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the member left or was removed, in ISO 8601, UTC; null for a member
             */
            removed_at: string | null;
            credit_limit?: {
                /** @description Most credits to spend */
                credits: number;
                /**
                 * @description A UTC day, a UTC month, or all time
                 * @enum {string}
                 */
                period: "day" | "month" | "total";
            };
            /** @description Credits used of the limit, less refunds */
            credits_used?: number;
            /**
             * Format: date-time
             * @description Start of the next day or month in UTC; null for the period total
             */
            resets_at?: string | null;
        };
        Invitation: {
            /** Format: uuid */
            uuid: string;
            email: string;
            /**
             * @description What the member may do: see Members
             * @enum {string}
             */
            role: "admin" | "developer" | "billing" | "viewer";
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            created_at: string;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            expires_at: string;
        };
        NotificationSettings: {
            /** @description Kinds of e-mail messages, and whether they are sent */
            email: {
                welcome: boolean;
                plan_active: boolean;
                credits_low: boolean;
                auto_topup_failed: boolean;
                auto_topup_disabled: boolean;
                payment_failed: boolean;
                renewal_upcoming: boolean;
                payout_sent: boolean;
                payout_setup_missing: boolean;
                webhook_disabled: boolean;
                /** @description About security: always true */
                key_created: boolean;
                /** @description About security: always true */
                application_connected: boolean;
                /** @description About security: always true */
                new_sign_in: boolean;
                /** @description About security: always true */
                identity_removed: boolean;
            };
            /** @description Balance below which credits are low; null: a tenth of the credits granted for the month */
            credits_low_threshold: number | null;
        };
        NotificationSettingsChange: {
            email?: {
                welcome?: boolean;
                plan_active?: boolean;
                credits_low?: boolean;
                auto_topup_failed?: boolean;
                auto_topup_disabled?: boolean;
                payment_failed?: boolean;
                renewal_upcoming?: boolean;
                payout_sent?: boolean;
                payout_setup_missing?: boolean;
                webhook_disabled?: boolean;
                /** @description About security: always true */
                key_created?: boolean;
                /** @description About security: always true */
                application_connected?: boolean;
                /** @description About security: always true */
                new_sign_in?: boolean;
                /** @description About security: always true */
                identity_removed?: boolean;
            };
            /** @description Balance below which credits are low; null: a tenth of the credits granted for the month */
            credits_low_threshold?: number | null;
        };
        AffiliateStatus: {
            code: string;
            /** Format: uri */
            referral_url: string;
            /** @description Whether commissions can be paid out */
            payout_enabled: boolean;
            /** @description Whether onboarding at the payment processor is complete */
            connect_onboarded: boolean;
            stats: {
                referrals: number;
                /** @description Number of referrals with an active subscription */
                active: number;
                lifetime_earnings_cents: number;
                pending_cents: number;
                paid_cents: number;
            };
            /** @description By month */
            recent: {
                month: string;
                referrals: number;
                commission_cents: number;
            }[];
        };
        Metrics: {
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            generated_at: string;
            users: {
                total: number;
                new_30d: number;
                onboarding: {
                    profile: number;
                    plan: number;
                    complete: number;
                };
            };
            subscriptions: {
                active_total: number;
                cancel_at_period_end: number;
                by_plan: {
                    /** @enum {string} */
                    slug: "lite" | "starter" | "pro" | "studio";
                    name: string;
                    count: number;
                    yearly_cents: number;
                }[];
            };
            revenue: {
                run_rate_yearly_cents: number;
                effective_monthly_cents: number;
                topups_30d_cents: number;
            };
            costs: {
                /** @description Cents, rounded */
                provider_30d_cents: number;
                /** @description Cents, rounded */
                per_active_user_monthly_cents: number;
            };
            margins: {
                monthly_revenue_cents: number;
                /** @description Cents, rounded */
                monthly_cost_cents: number;
                /** @description One decimal; 0 where there is no revenue */
                gross_margin_pct: number;
            };
            daily: {
                /** Format: date */
                date: string;
                signups: number;
                new_subscriptions: number;
                credits_used: number;
                /** @description Cents, rounded */
                provider_cost_cents: number;
            }[];
            by_model: {
                model: string;
                generations: number;
                credits: number;
                /** @description Cents, rounded */
                provider_cost_cents: number;
            }[];
        };
        User: {
            user: {
                /** Format: uuid */
                uuid: string;
                email: string;
                first_name: string;
                language: string;
                use_case: string;
                /** @enum {string} */
                onboarding_step: "profile" | "plan" | "complete";
                is_staff: boolean;
                /** @description google, apple, github, or dev for the local sign-in */
                social_provider: string;
                /** @description null without an active subscription */
                plan: {
                    /** @enum {string} */
                    slug: "lite" | "starter" | "pro" | "studio";
                    name: string;
                    parallel_limit: number;
                } | null;
                credits: {
                    balance: number;
                };
                is_affiliate: boolean;
            };
        };
        Profile: {
            first_name?: string;
            /** @description a language code such as en or pt-BR */
            language?: string;
            use_case?: string;
        };
        LowCredits: {
            /**
             * Format: uuid
             * @description The generation whose charge left the balance low
             */
            generation: string;
            /** @description Credits that are left */
            balance: number;
            /** @description The balance counts as low below this */
            threshold: number;
        };
        Topup: {
            /** Format: uuid */
            uuid: string;
            /** @enum {string} */
            kind: "manual" | "automatic";
            /** @enum {string} */
            status: "succeeded" | "failed";
            /** @description The ordered amount, without tax */
            amount_cents: number;
            /** @description Credits that were added, or would have been */
            credits: number;
            /** @description Reason of the failure; null if it succeeded */
            failure_code: string | null;
            /**
             * Format: date-time
             * @description ISO 8601, UTC
             */
            completed_at: string;
        };
        Commission: {
            amount_cents: number;
            /**
             * Format: date-time
             * @description Time at which the referred customer paid
             */
            paid_at: string;
            /**
             * Format: date-time
             * @description The commission is part of the next payout after it
             */
            payable_at: string;
        };
        Payout: {
            /** Format: uuid */
            uuid: string;
            month: string;
            amount_cents: number;
            /**
             * Format: date-time
             * @description Time at which it was transferred
             */
            paid_at: string;
        };
    };
    responses: {
        /** @description `validation_error`: The request is invalid; `detail` names the field. `content_rejected`: The content is not allowed; `detail` gives the reason. Only with content moderation. */
        ValidationErrorOrContentRejected: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "validation_error" | "content_rejected";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `validation_error`: The request is invalid; `detail` names the field. */
        ValidationError413: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "validation_error";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `invalid_api_key`: The credential is missing, unknown, revoked, expired or malformed. */
        InvalidApiKey: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "invalid_api_key";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `account_suspended`: The account is suspended: contact support. `insufficient_scope`: The API key or access token is restricted to other scopes, models or addresses; `detail` names what is missing. */
        AccountSuspendedOrInsufficientScope: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "account_suspended" | "insufficient_scope";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `rate_limited`: Too many requests: wait for `Retry-After` seconds. */
        RateLimited: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "rate_limited";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `insufficient_credits`: The balance does not cover the price, and no automatic top-up succeeded. `subscription_required`: The account has no active subscription or, for automatic top-ups, no payment method. `spending_limit_reached`: The credit limit of the API key or application does not cover the price. */
        InsufficientCreditsOrSubscriptionRequiredOrSpendingLimitReached: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "insufficient_credits" | "subscription_required" | "spending_limit_reached";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `parallel_limit_reached`: The account has as many generations in progress as its plan allows. */
        ParallelLimitReached: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "parallel_limit_reached";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `model_unavailable`: The model's provider does not respond; nothing was charged. `internal_error`: A fault of the service. With 503, a part of it is temporarily unavailable. */
        ModelUnavailableOrInternalError503: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "model_unavailable" | "internal_error";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `internal_error`: A fault of the service. With 503, a part of it is temporarily unavailable. */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "internal_error";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `validation_error`: The request is invalid; `detail` names the field. */
        ValidationError: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "validation_error";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `internal_error`: A fault of the service. With 503, a part of it is temporarily unavailable. */
        InternalError503: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "internal_error";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `not_found`: The resource does not exist or belongs to another account. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "not_found";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `subscription_required`: The account has no active subscription or, for automatic top-ups, no payment method. */
        SubscriptionRequired: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "subscription_required";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `insufficient_scope`: The API key or access token is restricted to other scopes, models or addresses; `detail` names what is missing. */
        InsufficientScope: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "insufficient_scope";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `admin_required`: The account is not a staff account, or its role does not include this. `account_suspended`: The account is suspended: contact support. `insufficient_scope`: The API key or access token is restricted to other scopes, models or addresses; `detail` names what is missing. */
        AdminRequiredOrAccountSuspendedOrInsufficientScope: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "admin_required" | "account_suspended" | "insufficient_scope";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
        /** @description `account_suspended`: The account is suspended: contact support. */
        AccountSuspended: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /**
                     * @description A stable code to match on
                     * @enum {string}
                     */
                    error: "account_suspended";
                    /** @description A sentence that says what is wrong and what to do; it may change */
                    detail: string;
                };
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description Remaining requests of the limit that applied, and the seconds until it resets.
         * @example "account";r=598;t=42
         */
        RateLimit: string;
        /**
         * @description The limit: number of requests per window in seconds.
         * @example "account";q=600;w=60
         */
        "RateLimit-Policy": string;
        /**
         * @description Seconds to wait before a retry.
         * @example 12
         */
        "Retry-After": number;
        /**
         * @description Present if the response is that of an earlier request with the same `Idempotency-Key`.
         * @example true
         */
        "Idempotent-Replayed": "true";
        /**
         * @description The required kind of credential, and for an access token the scopes to request.
         * @example Bearer
         */
        "WWW-Authenticate": string;
        /**
         * @description Id of the request in the logs of the service.
         * @example 01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
         */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    createGeneration: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    model: "vidmodel-video" | "imgmodel-2";
                    prompt: string;
                    /** @description Options of the model: see `GET /api/models/` */
                    params: components["schemas"]["VideoParams"] | components["schemas"]["ImageParams"];
                    /** @description Receives the webhook of its end, beside the endpoints of the account */
                    webhook_url?: string;
                    /** @description Pairs of strings that are returned with the generation, and by which lists can be filtered */
                    metadata?: {
                        [key: string]: string;
                    };
                    /** @description Largest accepted price. A higher price is a 400, and nothing is charged */
                    max_credits?: number;
                };
            };
        };
        responses: {
            /** @description The generation is charged and `queued`. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            400: components["responses"]["ValidationErrorOrContentRejected"];
            401: components["responses"]["InvalidApiKey"];
            402: components["responses"]["InsufficientCreditsOrSubscriptionRequiredOrSpendingLimitReached"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            409: components["responses"]["ParallelLimitReached"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["ModelUnavailableOrInternalError503"];
        };
    };
    estimateGeneration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    model: "vidmodel-video" | "imgmodel-2";
                    prompt: string;
                    /** @description Options of the model: see `GET /api/models/` */
                    params: components["schemas"]["VideoParams"] | components["schemas"]["ImageParams"];
                    /** @description Receives the webhook of its end, beside the endpoints of the account */
                    webhook_url?: string;
                    /** @description Pairs of strings that are returned with the generation, and by which lists can be filtered */
                    metadata?: {
                        [key: string]: string;
                    };
                    /** @description Largest accepted price. A higher price is a 400, and nothing is charged */
                    max_credits?: number;
                };
            };
        };
        responses: {
            /** @description The estimate, also if a create would be rejected. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Estimate"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listGenerations: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
                /** @description Only generations with this status. */
                status?: "queued" | "succeeded" | "failed";
                /** @description Only videos, or only images. */
                kind?: "video" | "image";
                /** @description Only generations of this model, by its slug. */
                model?: "vidmodel-video" | "imgmodel-2";
                /** @description Only generations with these pairs of metadata, such as `metadata[project]=lighthouse`; up to 3, which must all match. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description Only items created at this time or later. A date, which is its start in UTC, or an ISO 8601 time with its zone. */
                created_after?: string;
                /** @description Only items created before this time. A date, which is its start in UTC, or an ISO 8601 time with its zone. */
                created_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Generation"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getGeneration: {
        parameters: {
            query?: {
                /** @description Maximum number of seconds to wait for the end of the generation. The response is sent as soon as it ends. */
                wait?: number;
            };
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The generation. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    deleteGeneration: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The generation was deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    cancelGeneration: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The generation has ended, now or before. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description The cancellation was requested. Read the generation until it has ended. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    createUpload: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description `image/jpg` means `image/jpeg`
                     * @enum {string}
                     */
                    content_type: "image/png" | "image/jpeg" | "image/webp" | "image/jpg";
                    /** @description Size of the file */
                    bytes: number;
                };
            };
        };
        responses: {
            /** @description The upload waits for its file. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedUpload"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            402: components["responses"]["SubscriptionRequired"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getUpload: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The upload. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upload"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listModels: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models with their accepted values. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Model"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /**
                     * @description test for a key that costs nothing: see Test mode. Default: live
                     * @enum {string}
                     */
                    mode?: "live" | "test";
                    /** @description What the key may do; null for the whole account, or with another option for `svc:read` and `svc:write` */
                    scopes?: ("svc:read" | "svc:write" | "account")[] | null;
                    /** @description Future time from which the key is rejected, or a date, which is its start in UTC; null for never */
                    expires_at?: string | null;
                    /** @description Most credits that the key may spend in a UTC day, a UTC month or in total; null for no limit */
                    credit_limit?: {
                        /** @description Most credits to spend */
                        credits: number;
                        /**
                         * @description A UTC day, a UTC month, or all time
                         * @enum {string}
                         */
                        period: "day" | "month" | "total";
                    } | null;
                    /** @description Models that the key may use; null for all */
                    allowed_models?: string[] | null;
                    /** @description Addresses, or ranges in CIDR notation, from which the key may be used; null for all */
                    allowed_ips?: string[] | null;
                };
            };
        };
        responses: {
            /** @description The created key. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["ApiKey"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    updateApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name?: string;
                    /** @description What the key may do; null for the whole account, or with another option for `svc:read` and `svc:write` */
                    scopes?: ("svc:read" | "svc:write" | "account")[] | null;
                    /** @description Future time from which the key is rejected, or a date, which is its start in UTC; null for never */
                    expires_at?: string | null;
                    /** @description Most credits that the key may spend in a UTC day, a UTC month or in total; null for no limit */
                    credit_limit?: {
                        /** @description Most credits to spend */
                        credits: number;
                        /**
                         * @description A UTC day, a UTC month, or all time
                         * @enum {string}
                         */
                        period: "day" | "month" | "total";
                    } | null;
                    /** @description Models that the key may use; null for all */
                    allowed_models?: string[] | null;
                    /** @description Addresses, or ranges in CIDR notation, from which the key may be used; null for all */
                    allowed_ips?: string[] | null;
                };
            };
        };
        responses: {
            /** @description The changed key, as in the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is revoked. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        revoked: true;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getUsageSummary: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Balance, credit period, parallel limit, usage of the last 30 days, and totals by model. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageSummary"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listKeyUsage: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["KeyUsage"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listMemberUsage: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["MemberUsage"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listLedgerEntries: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
                /** @description Only entries of this type. */
                entry_type?: "grant" | "burn" | "refund" | "rollover" | "expiry" | "topup";
                /** @description Only items created at this time or later. A date, which is its start in UTC, or an ISO 8601 time with its zone. */
                created_after?: string;
                /** @description Only items created before this time. A date, which is its start in UTC, or an ISO 8601 time with its zone. */
                created_before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["LedgerEntry"][];
                    };
                    "text/csv": string;
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description An https address, without a user name, password or fragment */
                    url: string;
                    /** @description Types of events that it receives; null for all, including those that are added later */
                    events?: ("generation.succeeded" | "generation.failed" | "credits.low" | "credits.granted" | "topup.succeeded" | "topup.failed" | "subscription.updated" | "key.created" | "key.revoked" | "affiliate.commission" | "affiliate.payout")[] | null;
                    description?: string;
                };
            };
        };
        responses: {
            /** @description The created endpoint. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["WebhookEndpoint"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getDefaultWebhookSecret: {
        parameters: {
            query?: {
                /** @description `test`: the secret of test mode. Requires a test key of the account */
                mode?: "live" | "test";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The default secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        uuid: string;
                        /** @description Verifies signatures of the version `v1` */
                        secret: string;
                        /** @description Verifies signatures of the version `v1a` */
                        public_key: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    rotateDefaultWebhookSecret: {
        parameters: {
            query?: {
                /** @description `test`: the secret of test mode. Requires a test key of the account */
                mode?: "live" | "test";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new default secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        uuid: string;
                        /** @description Verifies signatures of the version `v1` */
                        secret: string;
                        /** @description Verifies signatures of the version `v1a` */
                        public_key: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint was deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description An https address, without a user name, password or fragment */
                    url?: string;
                    /** @description Types of events that it receives; null for all, including those that are added later */
                    events?: ("generation.succeeded" | "generation.failed" | "credits.low" | "credits.granted" | "topup.succeeded" | "topup.failed" | "subscription.updated" | "key.created" | "key.revoked" | "affiliate.commission" | "affiliate.payout")[] | null;
                    description?: string;
                    enabled?: boolean;
                };
            };
        };
        responses: {
            /** @description The updated endpoint. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint with its new secret. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery of the event. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
                /** @description Only deliveries with this status. */
                status?: "pending" | "succeeded" | "failed";
                /** @description Only deliveries of events of this type. */
                type?: "generation.succeeded" | "generation.failed" | "credits.low" | "credits.granted" | "topup.succeeded" | "topup.failed" | "subscription.updated" | "key.created" | "key.revoked" | "affiliate.commission" | "affiliate.payout" | "webhook.test";
            };
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["WebhookDelivery"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getWebhookDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryDetails"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    redeliverWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, which is pending again. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listPlans: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All plans, as an array without an envelope. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"][];
                };
            };
            400: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getBillingStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current subscription, or the last one of the account. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BillingStatus"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    checkOut: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    plan: "lite" | "starter" | "pro" | "studio";
                    interval?: unknown;
                };
            };
        };
        responses: {
            /** @description The page to open in a browser, to pay or to confirm the change. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkout"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    openBillingPortal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link, valid for a short time. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description null without a payment processor */
                        portal_url: string | null;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listInvoices: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Invoice"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getTopupSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current settings. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopupSettings"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    updateTopupSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TopupSettingsChange"];
            };
        };
        responses: {
            /** @description The updated settings. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopupSettings"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            402: components["responses"]["SubscriptionRequired"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    topUp: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    amount_cents: number;
                };
            };
        };
        responses: {
            /** @description The page to pay at. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkout"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            402: components["responses"]["SubscriptionRequired"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    receivePaymentEvent: {
        parameters: {
            query?: never;
            header: {
                /** @description Signature of the unchanged body, at most five minutes old. */
                "Stripe-Signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    id: string;
                    type: string;
                };
            };
        };
        responses: {
            /** @description The event is stored; a worker processes it. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        received: true;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    redeemGiftCode: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                };
            };
        };
        responses: {
            /** @description The credits were added. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedeemedGiftCode"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    createGiftCode: {
        parameters: {
            query?: never;
            header?: {
                /** @description A unique value, such as a UUID, for each new request. For 24 hours the same key with the same body returns the first response again; with another body it is a 400. Errors are not stored. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Credits of one redemption */
                    credits: number;
                    /**
                     * @description Number of accounts that may redeem it, once each
                     * @default 1
                     */
                    uses: number;
                    /** @description Time from which it cannot be redeemed, or a date, which is its start in UTC; null for never */
                    expires_at?: string | null;
                    /** @description For staff and the audit log; customers do not see it */
                    note: string;
                };
            };
        };
        responses: {
            /** @description The created code. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        uuid: string;
                        /** @description The part of the code by which people recognize it */
                        prefix: string;
                        credits: number;
                        /** @description Redemptions so far */
                        uses: number;
                        uses_max: number;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expires_at: string | null;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        revoked_at: string | null;
                        note: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        /** @description The code, shown only once */
                        code: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AdminRequiredOrAccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listGiftCodes: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["GiftCode"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AdminRequiredOrAccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    revokeGiftCode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revoked code. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GiftCode"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AdminRequiredOrAccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listMembers: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Member"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    updateMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description What the member may do: see Members
                     * @enum {string}
                     */
                    role?: "admin" | "developer" | "billing" | "viewer";
                    /** @description Most credits that the member may spend, with all sessions, keys and applications; null for no limit */
                    credit_limit?: {
                        /** @description Most credits to spend */
                        credits: number;
                        /**
                         * @description A UTC day, a UTC month, or all time
                         * @enum {string}
                         */
                        period: "day" | "month" | "total";
                    } | null;
                };
            };
        };
        responses: {
            /** @description The changed member. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Also revokes the API keys and applications that the member made. Default: false */
                    revoke_access?: boolean;
                };
            };
        };
        responses: {
            /** @description The member is removed. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Sessions that ended */
                        sessions?: number;
                        /** @description API keys that were revoked */
                        keys: number;
                        /** @description Approvals of applications that were revoked */
                        grants: number;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    revokeMemberAccess: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description They are revoked. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Sessions that ended */
                        sessions?: number;
                        /** @description API keys that were revoked */
                        keys: number;
                        /** @description Approvals of applications that were revoked */
                        grants: number;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    handOverAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member is the owner. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    leaveAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller is not a member any more. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Sessions that ended */
                        sessions?: number;
                        /** @description API keys that were revoked */
                        keys: number;
                        /** @description Approvals of applications that were revoked */
                        grants: number;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    inviteMember: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    email: string;
                    /**
                     * @description What the member may do: see Members
                     * @enum {string}
                     */
                    role: "admin" | "developer" | "billing" | "viewer";
                };
            };
        };
        responses: {
            /** @description The invitation. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        uuid: string;
                        email: string;
                        /**
                         * @description What the member may do: see Members
                         * @enum {string}
                         */
                        role: "admin" | "developer" | "billing" | "viewer";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expires_at: string;
                        /** @description The link of the message, which only the invited address can accept */
                        url: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listInvitations: {
        parameters: {
            query?: {
                /** @description Page number; a page has 20 items. After the last page `data` is empty. */
                page?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Invitation"][];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    resendInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The invitation. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** Format: uuid */
                        uuid: string;
                        email: string;
                        /**
                         * @description What the member may do: see Members
                         * @enum {string}
                         */
                        role: "admin" | "developer" | "billing" | "viewer";
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        created_at: string;
                        /**
                         * Format: date-time
                         * @description ISO 8601, UTC
                         */
                        expires_at: string;
                        /** @description The link of the message, which only the invited address can accept */
                        url: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    revokeInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link stops working. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["InsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    listAccounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The accounts, own ones first. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        accounts: {
                            /** Format: uuid */
                            uuid: string;
                            /** @description Address of the owner */
                            email: string;
                            /**
                             * @description What the member may do: see Members
                             * @enum {string}
                             */
                            role: "owner" | "admin" | "developer" | "billing" | "viewer";
                            /** @description True for the account that the session acts on */
                            is_current: boolean;
                        }[];
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    switchAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                uuid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session acts on the account. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspended"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getNotificationSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The current settings. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSettings"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    updateNotificationSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NotificationSettingsChange"];
            };
        };
        responses: {
            /** @description The updated settings. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSettings"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    enrollAsAffiliate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The referral link. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The last part of referral_url */
                        code: string;
                        /** Format: uri */
                        referral_url: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getAffiliateStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The affiliate status. Amounts are in integer cents. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AffiliateStatus"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    createAffiliateOnboardingLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link, valid for a short time. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: uri
                         * @description A page of the payment processor, valid for a short time
                         */
                        url: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AccountSuspendedOrInsufficientScope"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accounts, subscriptions, revenue and costs, in total and for the last 30 days. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metrics"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            403: components["responses"]["AdminRequiredOrAccountSuspendedOrInsufficientScope"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service responds. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        version: string;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getServing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "serving";
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The service is ready. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ready";
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getDescription: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document, in OpenAPI 3.1. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        openapi: string;
                        info: {
                            version: string;
                        } & {
                            [key: string]: unknown;
                        };
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getSocialConfig: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description True for each configured provider. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        google: boolean;
                        apple: boolean;
                        github: boolean;
                    };
                };
            };
            400: components["responses"]["ValidationError"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    updateMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Profile"];
            };
        };
        responses: {
            /** @description The updated user. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    logOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session has ended and the cookie is deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    advanceOnboarding: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @enum {string} */
                    step_completed: "profile" | "plan";
                    data?: {
                        first_name?: string;
                        /** @description a language code such as en or pt-BR */
                        language?: string;
                        use_case?: string;
                    };
                };
            };
        };
        responses: {
            /** @description The updated user. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["ValidationError"];
            401: components["responses"]["InvalidApiKey"];
            402: components["responses"]["SubscriptionRequired"];
            403: components["responses"]["InsufficientScope"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    signInLocally: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    email: string;
                };
            };
        };
        responses: {
            /** @description The user, created if necessary. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["ValidationError"];
            403: components["responses"]["AccountSuspended"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["ValidationError413"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["InternalError503"];
        };
    };
    onGenerationSucceeded: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "generation.succeeded";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["Generation"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onGenerationFailed: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "generation.failed";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["Generation"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onCreditsLow: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "credits.low";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["LowCredits"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onCreditsGranted: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "credits.granted";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["LedgerEntry"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onTopupSucceeded: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "topup.succeeded";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["Topup"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onTopupFailed: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "topup.failed";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["Topup"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onSubscriptionUpdated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "subscription.updated";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["BillingStatus"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onKeyCreated: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "key.created";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["ApiKey"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onKeyRevoked: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "key.revoked";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["ApiKey"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onAffiliateCommission: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "affiliate.commission";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["Commission"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onAffiliatePayout: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "affiliate.payout";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["Payout"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    onWebhookTest: {
        parameters: {
            query?: never;
            header: {
                /**
                 * @description Identifies the event: the same in every attempt.
                 * @example msg_01939b6e-5c1f-7a4d-9e0b-3f1d2c4b5a69
                 */
                "webhook-id": string;
                /**
                 * @description Time of the attempt, in seconds since 1970.
                 * @example 1763717400
                 */
                "webhook-timestamp": string;
                /**
                 * @description Signatures of `webhook-id.webhook-timestamp.body`, separated by spaces: HMAC-SHA256 with the secret (`v1`) and Ed25519 (`v1a`), each also with the former keys for 24 hours after a rotation.
                 * @example v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=
                 */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    type: "webhook.test";
                    /**
                     * Format: date-time
                     * @description Time of the event
                     */
                    timestamp: string;
                    data: components["schemas"]["WebhookEndpoint"];
                };
            };
        };
        responses: {
            /** @description The endpoint is disabled and receives no further messages. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Every other response is a failure: the message is sent again later. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
