import type { JsonObject } from '../protocol/index.ts'
import type { Fields, Route, RouteAnswer } from '../protocols/index.ts'
import { json, ref, schemaOf } from '../protocols/index.ts'
import { schemas } from './schemas.ts'

/** The routes that have a name as OpenAPI 3.1. */
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
      description: 'Conversations with streaming agents: say something, follow what happens, decide, stop.',
    },
    paths,
    components: { schemas, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    // What the server's own `auth` takes is not known here; this is what its clients send.
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
      default: response(json(ref('Error'), 'Refused or failed, and why')),
      ...Object.fromEntries(
        Object.entries(route.answers ?? {}).map(([status, answer]) => [status, response(answer)]),
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

function parameters(place: string, fields: Fields = {}): JsonObject[] {
  return Object.entries(fields).map(([name, { schema, required }]) =>
    parameter(place, name, schema, required),
  )
}

function parameter(place: string, name: string, schema: JsonObject, required = false): JsonObject {
  return { name, in: place, schema, ...(required && { required }) }
}

function response({ description, content = {} }: RouteAnswer): JsonObject {
  const bodies = Object.entries(content).map(([type, schema]) => [type, { schema }])
  return { description, ...(bodies.length > 0 && { content: Object.fromEntries(bodies) }) }
}
