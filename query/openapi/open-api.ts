import type { JsonSchema } from './json-schema.ts';
import type { Tag } from './operation.ts';

/** A reference to a component. */
export interface ReferenceObject {
  readonly $ref: string;
}

export interface Example {
  readonly value?: unknown;
  readonly 'x-disabled'?: true;
}

export interface MediaType {
  readonly schema?: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonSchema;
  readonly content?: Readonly<Record<string, MediaType>>;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, ReferenceObject>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface HeaderObject {
  readonly description: string;
  readonly schema: JsonSchema;
}

/** A request header that authenticates a client or the operator. */
export type SecurityScheme =
  | {
      readonly type: 'apiKey';
      readonly in: 'header' | 'cookie';
      readonly name: string;
      readonly description: string;
    }
  | { readonly type: 'http'; readonly scheme: 'bearer'; readonly description: string };

export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly Tag[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly ParameterObject[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, MediaType>>;
  };
  /** Responses by status. */
  readonly responses: Readonly<Record<string, ResponseObject | ReferenceObject>>;
}

/** The part of an OpenAPI 3.1 document that we use. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: Tag; readonly description: string }[];
  /** Operations by path, then by method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
  };
}
