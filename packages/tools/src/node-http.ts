/**
 * Node's HTTP modules. An `import` of them also loads `fetch`, which takes 50 ms of CPU: node:http
 * exports WebSocket, and an import reads every export.
 */
export const nodeHttp = () => process.getBuiltinModule('node:http')
export const nodeHttps = () => process.getBuiltinModule('node:https')
