// Generated from docs/openapi.json by npm run openapi. Do not edit.

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
        /** @description `subscription_required`: The account has no active subscription or, for automatic top-ups, no payment method. */
        SubscriptionRequired: {
            headers: {
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
        /** @description `internal_error`: A fault of the service. With 503, a part of it is temporarily unavailable. */
        InternalError503: {
            headers: {
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
        /** @description `insufficient_scope`: The API key or access token is restricted to other scopes, models or addresses; `detail` names what is missing. */
        InsufficientScope: {
            headers: {
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Estimate"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Generation"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
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
                    [name: string]: unknown;
                };
                content?: never;
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description The cancellation was requested. Read the generation until it has ended. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedUpload"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Upload"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Model"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["ApiKey"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        revoked: true;
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageSummary"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["KeyUsage"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["MemberUsage"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["WebhookEndpoint"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
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
                    [name: string]: unknown;
                };
                content?: never;
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpointWithSecret"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["WebhookDelivery"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryDetails"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"][];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BillingStatus"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkout"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description null without a payment processor */
                        portal_url: string | null;
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Invoice"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopupSettings"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TopupSettings"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkout"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        received: true;
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RedeemedGiftCode"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["GiftCode"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GiftCode"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Member"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
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
                    [name: string]: unknown;
                };
                content?: never;
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        pagination: components["schemas"]["Pagination"];
                        data: components["schemas"]["Invitation"][];
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content?: never;
            };
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
                    [name: string]: unknown;
                };
                content?: never;
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSettings"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationSettings"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AffiliateStatus"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metrics"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "serving";
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "ready";
                    };
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
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
                    [name: string]: unknown;
                };
                content?: never;
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
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
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
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
            /** @description The message was received. The body of the response is ignored. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
