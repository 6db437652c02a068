export { decodeEntities } from './entities.ts'
export type { MarkdownParser } from './parser.ts'
export { markdownParser } from './parser.ts'
export type { Detail, Sink, Tag } from './sink.ts'
