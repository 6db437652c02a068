/** Splits text into lines to render. Long lines, such as a request in one line, are split, too. */
export function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.match(/.{1,1000}/gsu) ?? [''])
}
