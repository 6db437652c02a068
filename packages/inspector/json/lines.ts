/** A text in the lines in which it is drawn. One line of JSON can be all of a request: what is long is cut, between characters. */
export function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.match(/.{1,1000}/gsu) ?? [''])
}
