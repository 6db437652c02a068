import type { JsonObject } from '../protocol/index.ts'
import type { Fields, Route, RouteResponse } from '../protocols/index.ts'
import { json, ref, schemaOf } from '../protocols/index.ts'
import { schemas } from './schemas.ts'

/** The OpenAPI 3.1 document of all routes that have a name. */
export function openApi(routes: readonly Route[]): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of routes) {
    if (route.name === undefined) continue
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: '1',
      description:
        'Conversations with streaming agents: send messages, follow events, approve tool calls and stop runs.',
    },
    paths,
    components: { schemas, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    // The server cannot know what its `auth` accepts. This is what the Millrace clients send.
    security: [{ bearer: [] }, {}],
  }
}

function operation(route: Route): JsonObject {
  const { name, summary, body, isPublic } = route
  return {
    operationId: name as string,
    ...(summary !== undefined && { summary }),
    parameters: [
      ...[...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) =>
        parameter('path', name, { type: 'string' }, true),
      ),
      ...parameters('query', route.query),
      ...parameters('header', route.headers),
    ],
    ...(body && { requestBody: requestBody(body) }),
    responses: {
      default: response(json(ref('Error'), 'The request was rejected or failed')),
      ...Object.fromEntries(
        Object.entries(route.responses ?? {}).map(([status, answer]) => [status, response(answer)]),
      ),
    },
    ...(isPublic && { security: [] }),
  }
}

function requestBody(fields: Fields): JsonObject {
  return {
    required: Object.values(fields).some(({ required }) => required),
    content: { 'application/json': { schema: schemaOf(fields) } },
  }
}

function parameters(location: string, fields: Fields = {}): JsonObject[] {
  return Object.entries(fields).map(([name, { schema, required }]) =>
    parameter(location, name, schema, required),
  )
}

function parameter(location: string, name: string, schema: JsonObject, required = false): JsonObject {
  return { name, in: location, schema, ...(required && { required }) }
}

function response({ description, content = {} }: RouteResponse): JsonObject {
  const bodies = Object.entries(content).map(([type, schema]) => [type, { schema }])
  return { description, ...(bodies.length > 0 && { content: Object.fromEntries(bodies) }) }
}
